from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import nn

from mobench.errors import NonFiniteError, UserError
from mobench.gradients.buckets import ON_CPU
from mobench.gradients.gradient_rows import GradientRows
from tests.training.small_methods import (
    HalfSquare,
    Lasso,
    batch,
    flat_grad,
    grad,
    jacobian,
    pieces,
    small_network,
    two_losses,
)


@pytest.fixture
def network() -> nn.Module:
    return small_network()


@pytest.fixture
def parameters(network: nn.Module) -> list[nn.Parameter]:
    return list(network.parameters())


def mixed_losses(network: nn.Module) -> list[Any]:
    parameters = list(network.parameters())
    first, second = two_losses(network, batch())
    return [first, HalfSquare(parameters, positions=[0, 2]), second, Lasso(parameters)]


def mixed_jacobian(network: nn.Module) -> torch.Tensor:
    parameters = list(network.parameters())
    first, second = jacobian(two_losses(network, batch()), parameters)
    square = torch.cat([p.detach().reshape(-1) * (i in (0, 2)) for i, p in enumerate(parameters)])
    return torch.stack([first, square, second, torch.cat([p.detach().sign().reshape(-1) for p in parameters])])


def test_loading_computes_values_and_nothing_else(network, parameters) -> None:
    rows = GradientRows(parameters)
    losses = mixed_losses(network)
    rows.load(losses)
    expected = [float(loss.detach()) if isinstance(loss, torch.Tensor) else loss.value for loss in losses]
    assert rows.values.dtype == np.float64
    assert rows.values.tolist() == expected
    assert (rows.backward_passes, rows.computed, rows.gram_if_read) == (0, False, None)
    assert losses[1].asked == 0


def test_gram_gradients_and_update_agree_with_autograd(network, parameters) -> None:
    expected = mixed_jacobian(network)
    weights = [0.5, -2.0, 3.0, 0.25]
    rows = GradientRows(parameters)
    rows.load(mixed_losses(network))
    gram = rows.gram()
    assert rows.computed
    assert rows.gram_if_read is gram
    np.testing.assert_allclose(gram, (expected @ expected.T).numpy(), rtol=1e-13)
    torch.testing.assert_close(rows.gradients(), expected, rtol=1e-13, atol=1e-14)
    rows.apply(weights)
    torch.testing.assert_close(flat_grad(parameters), torch.tensor(weights, dtype=torch.float64) @ expected)
    assert rows.backward_passes == 2


def test_weights_found_without_gradients_cost_one_backward_pass(network, parameters) -> None:
    expected = torch.tensor([0.5, -2.0, 3.0, 0.25], dtype=torch.float64) @ mixed_jacobian(network)
    rows = GradientRows(parameters)
    rows.load(mixed_losses(network))
    rows.apply([0.5, -2.0, 3.0, 0.25])
    assert rows.backward_passes == 1
    torch.testing.assert_close(flat_grad(parameters), expected)


@pytest.mark.parametrize("read", ["gram", "gradients", "both", "nothing"])
def test_one_loss_with_a_graph_costs_one_pass_whatever_is_read(network, parameters, read: str) -> None:
    rows = GradientRows(parameters)
    rows.load([two_losses(network, batch())[0], HalfSquare(parameters), Lasso(parameters)])
    if read in ("gram", "both"):
        rows.gram()
    if read in ("gradients", "both"):
        rows.gradients()
    rows.apply([1.0, 0.1, 0.2])
    assert rows.backward_passes == 1


def test_the_gradient_of_the_only_loss_with_a_graph_becomes_grad_without_a_copy(network, parameters) -> None:
    rows: Any = GradientRows(parameters)
    rows.load([HalfSquare(parameters), two_losses(network, batch())[0]])
    rows.gram()
    addresses = [block.data_ptr() for block in rows._all_rows()[1].blocks]
    rows.apply([2.0, 3.0])
    assert [parameter.grad.data_ptr() for parameter in parameters] == addresses
    assert not rows.computed


def test_gradients_that_share_memory_inside_autograd_are_kept_apart() -> None:
    # The gradients of a sum are one expanded number, and those of a + b are the same tensor.
    a, b = (torch.zeros(3, requires_grad=True) for _ in range(2))
    rows = GradientRows([a, b])
    rows.load([(a + b).sum(), (2.0 * a).sum()])
    assert rows.gram().tolist() == [[6.0, 6.0], [6.0, 12.0]]
    rows.apply([1.0, 10.0])
    assert grad(a) == [21.0] * 3
    assert grad(b) == [1.0] * 3
    with torch.no_grad():
        cast("torch.Tensor", a.grad).zero_()
    assert grad(b) == [1.0] * 3


def test_a_gradient_that_a_custom_function_keeps_is_not_overwritten() -> None:
    kept = torch.ones(4)

    class Stored(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum()

        @staticmethod
        def backward(ctx, upstream):
            return kept

    theta = torch.zeros(4, requires_grad=True)
    rows = GradientRows([theta])
    rows.load([Stored.apply(theta), (3.0 * theta).sum()])
    rows.gram()
    rows.apply([5.0, 1.0])
    assert grad(theta) == [8.0] * 4
    assert kept.tolist() == [1.0] * 4


def test_frozen_and_unused_parameters_get_no_gradient() -> None:
    used, unused, penalised = (torch.ones(2, requires_grad=True) for _ in range(3))
    frozen = torch.ones(2)
    tensors = [used, frozen, unused, penalised]
    for parameter in tensors:
        parameter.grad = torch.full((2,), 99.0) if parameter.requires_grad else None
    rows = GradientRows(tensors)
    rows.load([(used * frozen).sum(), HalfSquare(tensors, positions=[1, 3])])
    assert rows.gradients().tolist() == [[1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0, 1, 1]]
    rows.apply([2.0, 0.0])
    assert grad(used) == [2.0, 2.0]
    assert frozen.grad is None
    assert unused.grad is None
    assert grad(penalised) == [0.0, 0.0], "a weight of zero is a gradient of zero, not none"
    rows.load([(used * frozen).sum(), HalfSquare(tensors, positions=[3])])
    rows.gradients()
    rows.apply_direction(torch.arange(8.0))
    assert [grad(p) for p in tensors] == [[0, 1], None, None, [6, 7]]


def test_grad_is_overwritten_not_accumulated(network, parameters) -> None:
    rows = GradientRows(parameters)
    for _ in range(2):
        rows.load(two_losses(network, batch()))
        rows.apply([1.0, 1.0])
    torch.testing.assert_close(flat_grad(parameters), jacobian(two_losses(network, batch()), parameters).sum(dim=0))


@pytest.mark.parametrize("size", [1e-22, 1e22])
def test_gram_survives_the_limits_of_float32(size: float) -> None:
    theta = torch.ones(4, requires_grad=True)
    rows = GradientRows([theta])
    rows.load([size * theta.sum(), 2.0 * theta.sum()])
    np.testing.assert_allclose(rows.gram(), [[4 * size**2, 8 * size], [8 * size, 16]], rtol=1e-6)


def test_channels_last_parameters_are_paired_entry_by_entry() -> None:
    torch.manual_seed(0)
    network = nn.Conv2d(3, 4, 3).double().to(memory_format=torch.channels_last)
    assert not network.weight.is_contiguous()
    inputs = torch.randn(2, 3, 6, 6, dtype=torch.float64).to(memory_format=torch.channels_last)
    parameters = list(network.parameters())
    outputs = network(inputs)
    losses = [outputs.square().mean(), outputs.abs().mean(), Lasso(parameters)]
    autograd = jacobian(losses[:2], parameters)
    expected = torch.cat([autograd, torch.cat([p.detach().sign().reshape(-1) for p in parameters])[None]])
    rows = GradientRows(parameters)
    rows.load(losses)
    np.testing.assert_allclose(rows.gram(), (expected @ expected.T).numpy(), rtol=1e-12)
    torch.testing.assert_close(rows.gradients(), expected)
    rows.apply([1.0, 2.0, 3.0])
    torch.testing.assert_close(flat_grad(parameters), torch.tensor([1.0, 2.0, 3.0]).double() @ expected)


def test_bfloat16_parameters_are_combined_in_float32() -> None:
    theta = torch.ones(4, dtype=torch.bfloat16, requires_grad=True)
    rows = GradientRows([theta])
    rows.load([(256.0 * theta).sum(), theta.sum(), theta.sum()])
    rows.gram()
    rows.apply([1.0, 1.0, 1.0])  # in bfloat16, 256 + 1 + 1 would be 256
    assert flat_grad([theta]).dtype == torch.bfloat16
    assert grad(theta) == [258.0] * 4


def test_sparse_gradients_become_dense() -> None:
    embedding = nn.Embedding(4, 2, sparse=True)
    rows = GradientRows(embedding.parameters())
    rows.load([embedding(torch.tensor([1, 1])).sum()])
    assert rows.gram().tolist() == [[8.0]]
    rows.apply([1.0])
    assert grad(embedding.weight) == [[0, 0], [2, 2], [0, 0], [0, 0]]


def test_given_gradients_are_combined_and_left_alone(network, parameters) -> None:
    dense = torch.randn(2, 58, dtype=torch.float64)[:, :58]
    before = dense.clone()
    rows = GradientRows(parameters)
    for gradients in (dense, [list(_split(row, parameters)) for row in dense]):
        rows.load_gradients(gradients)
        np.testing.assert_allclose(rows.gram(), (dense @ dense.T).numpy(), rtol=1e-13)
        rows.apply([2.0, -1.0])
        torch.testing.assert_close(flat_grad(parameters), 2.0 * dense[0] - dense[1])
        parameters[0].grad.zero_()
        assert torch.equal(dense, before)
    assert rows.backward_passes == 0


def _split(vector: torch.Tensor, parameters):
    cuts = pieces(vector, [p.numel() for p in parameters])
    return (piece.view_as(p) for piece, p in zip(cuts, parameters, strict=True))


@pytest.mark.parametrize(("width", "share"), [(512, 0.1), (128, 0.0)])
def test_extra_memory_of_a_step_with_penalties_is_a_fraction_of_the_parameters(width: int, share: float) -> None:
    """Counted in bytes that torch allocates, on equal layers: one of them for each closed form, or buckets."""
    layers = [nn.Linear(width, width, bias=False) for _ in range(20)]
    network = nn.Sequential(*layers)
    parameters = list(network.parameters())
    size = sum(p.numel() * p.element_size() for p in parameters)
    inputs = torch.randn(1, width)

    def plain() -> None:
        network(inputs).sum().backward()

    def combined() -> None:
        rows = GradientRows(parameters)
        rows.load([network(inputs).sum(), Lasso(parameters), HalfSquare(parameters)])
        rows.gram()
        rows.apply([1.0, 0.1, 0.1])

    def peak(step) -> int:
        network.zero_grad()
        with torch.profiler.profile(profile_memory=True, activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            step()
        events = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
        return int(np.cumsum([event.nbytes() for event in sorted(events, key=lambda e: e.start_ns())]).max())

    assert peak(plain) >= size, "the gradients themselves are seen"
    buckets = 0 if share else 3 * 4 * ON_CPU
    assert peak(combined) - peak(plain) <= share * size + buckets + 4096


def test_a_non_finite_loss_is_named(network, parameters) -> None:
    rows = GradientRows(parameters)
    good, other = two_losses(network, batch())
    with pytest.raises(NonFiniteError, match="loss 1 of 2 is nan"):
        rows.load([good, other * float("nan")])
    with pytest.raises(NonFiniteError, match="loss 0 of 2 is inf"):
        rows.accumulate([good * float("inf"), other])


@pytest.mark.parametrize(
    ("losses", "message"),
    [
        ([], "losses is empty"),
        (
            torch.ones(2, requires_grad=True).sum(),
            r"losses is a tensor of shape \(\); it takes a list or dict",
        ),
        ([torch.ones(3, requires_grad=True) * 2.0], r"loss 0 of 1 has shape \(3,\)"),
        ([torch.ones(())], "loss 0 of 1 has no graph"),
        ([1.0], "loss 0 of 1 is a float"),
        ({"fit": 1.0}, "loss 'fit' is a float"),
        ("task", "losses is a str"),
    ],
)
def test_losses_that_cannot_be_used_are_refused(parameters, losses, message: str) -> None:
    with pytest.raises(UserError, match=message):
        GradientRows(parameters).load(losses)


def test_parameters_that_cannot_be_used_are_refused() -> None:
    theta = torch.ones(2, requires_grad=True)
    mistakes: list[tuple[Any, str]] = [
        ([], "parameters is empty"),
        ([theta, theta], "one tensor twice"),
        ([theta, theta * 2.0], r"parameters\[1\] is no real leaf"),
        (["theta"], r"parameters\[0\] is no real leaf"),
    ]
    for bad, message in mistakes:
        with pytest.raises(UserError, match=message):
            GradientRows(bad)
    frozen = torch.ones(2)
    rows = GradientRows([frozen])
    rows.load([theta.sum()])
    with pytest.raises(UserError, match="every parameter is frozen"):
        rows.gram()


def test_other_mistakes_are_refused(network, parameters) -> None:
    rows = GradientRows(parameters)
    with pytest.raises(UserError, match="there are no losses"):
        rows.gram()
    rows.load(two_losses(network, batch()))
    with pytest.raises(UserError, match="3 weights for 2 losses"):
        rows.apply([1.0, 1.0, 1.0])

    class WrongShape(HalfSquare):
        def gradient(self, index: int):
            return torch.zeros(3)

    rows.load([WrongShape(parameters)])
    with pytest.raises(UserError, match=r"WrongShape.gradient\(0\) has shape \(3,\)"):
        rows.gram()


@pytest.mark.parametrize(
    ("gradients", "message"),
    [
        (torch.zeros(2, 57), r"gradients has shape \(2, 57\); .* \(K, 58\) is needed"),
        (torch.zeros(0, 58), "gradients is empty"),
        ([[torch.zeros(7, 5)]], r"gradients\[0\] has 1 tensors; there are 4 parameters"),
        ([[torch.zeros(3), None, None, None]], r"gradients\[0\]\[0\] has shape \(3,\)"),
        ([[torch.zeros(7, 5, device="meta"), None, None, None]], "on meta; parameter 0 has shape .* on cpu"),
    ],
)
def test_given_gradients_that_do_not_fit_are_refused(parameters, gradients, message: str) -> None:
    with pytest.raises(UserError, match=message):
        GradientRows(parameters).load_gradients(gradients)


def test_micro_batches_must_fit_together(network, parameters) -> None:
    first, second = two_losses(network, batch())
    rows = GradientRows(parameters)
    rows.accumulate([first, second])
    with pytest.raises(UserError, match="this micro-batch has 1 losses; the one before had 2"):
        rows.accumulate(two_losses(network, batch())[:1])
    with pytest.raises(UserError, match="loss 1 is a tensor in one micro-batch and a closed form"):
        rows.accumulate([two_losses(network, batch())[0], Lasso(parameters)])
    with pytest.raises(UserError, match="scale changed from 1 to 2"):
        rows.accumulate(two_losses(network, batch()), scale=2.0)
    with pytest.raises(UserError, match="weight=0 is not accepted"):
        rows.accumulate(two_losses(network, batch()), weight=0)
