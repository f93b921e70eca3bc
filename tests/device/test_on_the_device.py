"""Penalties, Gram matrix and combination on a device: nothing leaves it, and nothing else is mixed in."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from mobench.core.flat import FlatBlocks, memory_order
from mobench.core.objective import KnownGradient
from mobench.errors import UserError
from mobench.gradients.blocks import KnownRow, Scratch, StoredRow, weighted_sum
from mobench.gradients.buckets import make_buckets
from mobench.gradients.gradient_rows import GradientRows
from mobench.gradients.gram import GramSum
from mobench.problems.compression.nuclear import Nuclear
from mobench.problems.compression.penalties import L1, GroupLasso, Penalty, proximal_step
from tests.device.pretended_cuda import PretendedCuda

SHAPES = [(16, 3, 3, 3), (16,), (32, 16, 3, 3), (32, 16, 3, 3), (10, 32), (10,)]
PENALISED = [0, 2, 3]
KINDS: list[type[Penalty]] = [GroupLasso, L1, Nuclear]


@pytest.fixture(params=["apart", "side by side"])
def parameters(request: pytest.FixtureRequest, device: PretendedCuda) -> list[Tensor]:
    """Parameters on the device, in one vector as the trainer puts them, or each for itself."""
    torch.manual_seed(0)
    tensors = [torch.randn(shape, device="cuda") for shape in SHAPES]
    if request.param == "side by side":
        order = memory_order(tensors, range(len(tensors)))
        vector = torch.randn(sum(tensor.numel() for tensor in tensors), device="cuda")
        views = dict(zip(order, FlatBlocks.of(vector, order, tensors).views, strict=True))
        tensors = [views[index] for index in range(len(tensors))]
    return tensors


def on_cuda(tensor: object) -> bool:
    return isinstance(tensor, Tensor) and tensor.device.type == "cuda"


@pytest.mark.parametrize("kind", KINDS)
def test_penalties_stay_on_their_device(kind: type[Penalty], parameters: list[Tensor]) -> None:
    penalty = kind(parameters, PENALISED, 0.5)
    penalty.update()
    assert on_cuda(penalty.value) and penalty.value.dtype == torch.float64
    (bucket,) = make_buckets(parameters, range(len(parameters)))
    blocks = bucket.blocks(1)
    present = penalty.gradients_into(blocks)
    assert [index for index, there in zip(blocks.indices, present, strict=True) if there] == [0, 2, 3]
    assert on_cuda(blocks.vector) and on_cuda(penalty.gradient(2)) and penalty.gradient(1) is None


@pytest.mark.parametrize("kind", KINDS)
def test_proximal_steps_stay_on_their_device(kind: type[Penalty], parameters: list[Tensor]) -> None:
    penalty = kind(parameters, PENALISED)
    proximal_step([penalty], 0.1)
    penalty.update()
    assert on_cuda(penalty.value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_gradient_written_to_another_device_is_refused(kind: type[Penalty], parameters: list[Tensor]) -> None:
    penalty = kind(parameters, PENALISED)
    penalty.update()
    elsewhere = FlatBlocks.of(torch.zeros(32 * 16 * 9), [2], parameters)
    with pytest.raises(RuntimeError, match=r"[dD]evice"):
        penalty.gradients_into(elsewhere)


class OnTheHost(KnownGradient):
    """An objective whose gradient is left on the CPU."""

    value = 1.0

    def gradient(self, index: int) -> Tensor | None:
        return torch.zeros(SHAPES[index])


def test_a_known_gradient_on_another_device_is_refused(parameters: list[Tensor]) -> None:
    row = KnownRow(OnTheHost(), parameters, Scratch(parameters))
    (bucket,) = make_buckets(parameters, range(len(parameters)))
    for read in (lambda: row.block(2), lambda: row.fill(bucket.blocks(0))):
        with pytest.raises(UserError, match=r"OnTheHost.gradient\(\d\) .* on cpu; parameter \d .* on cuda"):
            read()


def test_a_stored_gradient_on_another_device_is_not_copied_into_a_bucket(parameters: list[Tensor]) -> None:
    (bucket,) = make_buckets(parameters, range(len(parameters)))
    on_the_host = StoredRow([torch.zeros(shape) for shape in SHAPES], 1.0, owned=True)
    with pytest.raises(RuntimeError, match=r"several devices, cuda:0 and cpu"):
        on_the_host.fill(bucket.blocks(0))
    with pytest.raises(RuntimeError, match=r"[dD]evice"):
        weighted_sum([(StoredRow([*parameters], 1.0, owned=False), 1.0), (on_the_host, 1.0)], 0, parameters[0])


@pytest.mark.parametrize("wide", [False, True])
def test_a_gram_matrix_of_gradients_on_several_devices_is_refused(parameters: list[Tensor], wide: bool) -> None:
    with pytest.raises(RuntimeError, match=r"several devices, cuda:0 and cpu"):
        GramSum(2, wide=wide).add([parameters[0].flatten(), torch.zeros(parameters[0].numel())])


def step(parameters: list[Tensor]) -> GradientRows:
    """Return rows whose first gradient is there already, as after a backward pass."""
    rows = GradientRows(parameters)
    blocks: list[Tensor | None] = [torch.randn_like(parameter) for parameter in parameters]
    rows.load_gradients([blocks], values=np.ones(1))
    penalties = [kind(parameters, PENALISED) for kind in KINDS]
    for penalty in penalties:
        penalty.update()
    known = [KnownRow(penalty, rows.parameters, Scratch(parameters)) for penalty in penalties]
    rows._rows = [StoredRow(blocks, 1.0, owned=True), *known]
    rows._value_sum = np.ones(4)
    return rows


def test_the_gram_matrix_leaves_the_device_once_as_k_times_k_numbers(
    parameters: list[Tensor], device: PretendedCuda
) -> None:
    rows = step(parameters)
    device.forget_counts()
    gram = rows.gram()
    assert device.waits == {"tolist": 1}
    gradients = rows.gradients().cpu().double()
    np.testing.assert_allclose(gram, gradients @ gradients.T, rtol=1e-5)


@pytest.mark.parametrize("weights", [[1.0, 0.5, 0.25, 2.0], [1.0, 0.0, 0.0, 0.0]])
def test_the_combination_stays_on_its_device(parameters: list[Tensor], weights: list[float]) -> None:
    for parameter in parameters:
        parameter.requires_grad_()
    rows = step(parameters)
    expected = torch.tensor(weights) @ rows.gradients().cpu()
    rows.apply(weights)
    found = torch.cat([parameter.grad.flatten() for parameter in parameters if parameter.grad is not None])
    torch.testing.assert_close(found.cpu(), expected)
    assert all(on_cuda(parameter.grad) and parameter.grad.shape == parameter.shape for parameter in parameters)


def test_a_gradient_on_another_device_is_refused(parameters: list[Tensor]) -> None:
    blocks = [torch.zeros_like(parameter) for parameter in parameters]
    blocks[2] = torch.zeros(SHAPES[2])
    with pytest.raises(UserError, match=r"gradients\[0\]\[2\] .* on cpu; parameter 2 .* on cuda"):
        GradientRows(parameters).load_gradients([blocks])
