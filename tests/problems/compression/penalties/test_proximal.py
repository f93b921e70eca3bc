"""Proximal maps: closed forms by hand, and optimality of the problem they solve."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from mobench.core.device_path import forced_device_path
from mobench.problems.compression.nuclear import Nuclear
from mobench.problems.compression.penalties import L1, GroupLasso, Penalty, proximal_step
from tests.problems.compression.penalties.weights import random_weights, with_singular_values

PENALTIES: dict[str, type[Penalty]] = {"group-lasso": GroupLasso, "l1": L1, "nuclear": Nuclear}


def shrink(name: str, weight: Tensor, threshold: float) -> None:
    proximal_step([PENALTIES[name]([weight], [0], scale=3.0)], threshold)


def test_soft_thresholding_by_hand() -> None:
    weight = torch.tensor([[0.5, -0.5, 2.0], [-2.0, 0.0, 1.0]])
    shrink("l1", weight, 0.75)
    assert torch.equal(weight, torch.tensor([[0.0, 0.0, 1.25], [-1.25, 0.0, 0.25]]))


def test_group_soft_thresholding_by_hand() -> None:
    weight = torch.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]]).view(3, 2, 1, 1)
    shrink("group-lasso", weight, 1.0)
    torch.testing.assert_close(weight.view(3, 2), torch.tensor([[2.4, 3.2], [0.0, 0.0], [0.0, 0.0]]))
    assert torch.count_nonzero(weight[1:]) == 0


@pytest.mark.parametrize("shape", [(6, 4, 3, 3), (36, 2, 2, 1)])
def test_singular_value_thresholding_shrinks_every_singular_value(shape: tuple[int, ...]) -> None:
    weight = with_singular_values([5.0, 2.0, 1.0, 0.2], shape)
    left, values, right = torch.linalg.svd(weight.double().flatten(1), full_matrices=False)
    expected = (left * (values - 1.5).clamp_min(0)) @ right
    shrink("nuclear", weight, 1.5)
    torch.testing.assert_close(weight.double().flatten(1), expected, rtol=0, atol=2e-6)
    assert torch.linalg.matrix_rank(weight.flatten(1), rtol=1e-5) == 2


def test_singular_value_thresholding_writes_channels_last_weights_in_place() -> None:
    plain = random_weights()[0]
    last = plain.to(memory_format=torch.channels_last)
    address = last.data_ptr()
    for weight in (plain, last):
        shrink("nuclear", weight, 0.7)
    torch.testing.assert_close(last, plain)
    assert last.data_ptr() == address


@pytest.mark.parametrize("name", PENALTIES)
def test_threshold_zero_changes_nothing_and_a_large_one_leaves_zero(name: str) -> None:
    weight = random_weights()[0]
    before = weight.clone()
    shrink(name, weight, 0.0)
    torch.testing.assert_close(weight, before, rtol=0, atol=2e-6)
    shrink(name, weight, 1e3)
    assert torch.count_nonzero(weight) == 0


@pytest.mark.parametrize("name", PENALTIES)
@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), threshold=st.floats(0.01, 3.0), size=st.sampled_from([1e-3, 0.1, 3.0]))
def test_proximal_map_minimises_its_problem(name: str, seed: int, threshold: float, size: float) -> None:
    """No perturbation lowers ½‖X − W‖² + t·R(X) below its value at the proximal point."""
    weight = with_singular_values([3.0, 1.5, 0.5, 0.1], (6, 4, 3, 3), seed)
    point = weight.clone()
    shrink(name, point, threshold)

    def objective(candidate: Tensor) -> float:
        distance = (candidate.double() - weight.double()).square().sum().item()
        return 0.5 * distance + threshold * float(PENALTIES[name]([candidate], [0]).evaluate())

    noise = torch.randn(weight.shape, generator=torch.Generator().manual_seed(seed + 1))
    assert objective(point) <= objective(point + size * noise) + 1e-5


def test_proximal_step_applies_the_maps_in_order_to_parameters() -> None:
    layer = torch.nn.Conv2d(4, 6, 3, bias=False)
    expected = layer.weight.detach().clone()
    shrink("l1", expected, 0.05)
    shrink("nuclear", expected, 0.05)
    proximal_step([L1([layer.weight], [0]), Nuclear([layer.weight], [0])], 0.05)
    assert torch.equal(layer.weight, expected)
    assert layer.weight.is_leaf and layer.weight.grad is None


@pytest.mark.parametrize("on_device", [False, True])
def test_the_nuclear_norm_after_its_own_proximal_step_needs_no_second_decomposition(
    on_device: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = random_weights()
    kept = Nuclear(weights, [0, 1, 2])
    with forced_device_path() if on_device else nullcontext():
        proximal_step([L1(weights, [0, 1, 2]), kept], 0.3)
        fresh = Nuclear(weights, [0, 1, 2])
        fresh.update()
        with monkeypatch.context() as patched:
            patched.setattr("torch.linalg.eigh", None)
            kept.update()
        assert float(kept.value) == pytest.approx(float(fresh.value), rel=1e-6)
        for index in (0, 1, 2):
            torch.testing.assert_close(kept.gradient(index), fresh.gradient(index), rtol=0, atol=2e-5)
        with torch.no_grad():
            weights[1].mul_(2.0)
        kept.update()
        assert float(kept.value) > float(fresh.value)


def test_a_proximal_step_of_another_penalty_after_it_outdates_what_the_nuclear_norm_found() -> None:
    weights = random_weights()
    nuclear = Nuclear(weights, [0])
    proximal_step([nuclear, L1(weights, [0])], 0.3)
    nuclear.update()
    assert nuclear.value == pytest.approx(nuclear.evaluate(), rel=1e-9)
