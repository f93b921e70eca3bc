"""Closed-form penalties against autograd, the SVD and the definition of a subgradient."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from mobench.errors import NonFiniteError
from mobench.problems.compression.nuclear import Nuclear
from mobench.problems.compression.penalties import L1, GroupLasso, Penalty
from tests.problems.compression.penalties.weights import polar_factor, random_weights, with_singular_values

PENALISED = [0, 1, 2]
KINDS = [GroupLasso, L1, Nuclear]


def by_definition(kind: type[Penalty], weights: list[Tensor]) -> Tensor:
    if kind is L1:
        return sum((weight.abs().sum() for weight in weights), torch.zeros(()))
    if kind is GroupLasso:
        return sum((weight.flatten(1).norm(dim=1).sum() for weight in weights), torch.zeros(()))
    return sum((torch.linalg.matrix_norm(weight.flatten(1), "nuc") for weight in weights), torch.zeros(()))


def updated(kind: type[Penalty], weights: list[Tensor], penalised: list[int], scale: float = 1.0) -> Penalty:
    penalty = kind(weights, penalised, scale)
    penalty.update()
    return penalty


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e4])
def test_value_and_gradient_agree_with_autograd_in_float64(kind: type[Penalty], scale: float) -> None:
    weights = random_weights()
    penalty = updated(kind, weights, PENALISED, scale)
    exact = [weights[index].double().requires_grad_() for index in PENALISED]
    value = scale * by_definition(kind, exact)
    gradients = torch.autograd.grad(value, exact)
    assert penalty.value == pytest.approx(value.item(), rel=1e-6)
    assert penalty.evaluate() == pytest.approx(value.item(), rel=1e-6)
    for index, gradient in zip(PENALISED, gradients, strict=True):
        torch.testing.assert_close(penalty.gradient(index).double(), gradient, rtol=1e-5, atol=2e-6 * scale)


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_that_are_not_penalised_have_no_gradient(kind: type[Penalty]) -> None:
    penalty = updated(kind, random_weights(), [0, 2])
    assert penalty.gradient(1) is None
    assert penalty.gradient(3) is None
    assert penalty.gradient(2).shape == (5, 7)


@pytest.mark.parametrize("kind", KINDS)
def test_penalty_follows_weights_changed_in_place_and_evaluate_leaves_it_alone(kind: type[Penalty]) -> None:
    weights = random_weights()
    penalty = updated(kind, weights, PENALISED)
    value, row = penalty.value, penalty.gradient(0).clone()
    with torch.no_grad():
        weights[1].mul_(-2)
    assert penalty.evaluate() > value
    assert penalty.value == value
    assert torch.equal(penalty.gradient(0), row)
    penalty.update()
    fresh = updated(kind, weights, PENALISED)
    assert penalty.value == fresh.value
    assert all(torch.equal(penalty.gradient(index), fresh.gradient(index)) for index in PENALISED)


@pytest.mark.parametrize("kind", KINDS)
def test_a_network_parameter_is_read_without_a_graph(kind: type[Penalty]) -> None:
    layer = torch.nn.Conv2d(3, 4, 3)
    penalty = updated(kind, list(layer.parameters()), [0])
    assert not penalty.gradient(0).requires_grad


@pytest.mark.parametrize("kind", KINDS)
def test_channels_last_weights_give_the_same_gradient(kind: type[Penalty]) -> None:
    weight = random_weights()[0]
    plain, last = updated(kind, [weight], [0]), updated(kind, [weight.to(memory_format=torch.channels_last)], [0])
    assert last.value == pytest.approx(plain.value, rel=1e-6)
    torch.testing.assert_close(last.gradient(0), plain.gradient(0), rtol=1e-5, atol=1e-6)


def test_group_lasso_gradient_is_zero_on_zero_filters_and_unit_elsewhere() -> None:
    weight = random_weights()[0]
    weight[[1, 4]] = 0
    gradient = updated(GroupLasso, [weight], [0]).gradient(0)
    norms = gradient.flatten(1).norm(dim=1)
    assert torch.equal(norms == 0, torch.tensor([False, True, False, False, True, False]))
    torch.testing.assert_close(norms[norms > 0], torch.ones(4))


def test_l1_gradient_is_zero_at_zero_weights() -> None:
    weight = torch.tensor([[0.0, -2.0, 3.0, -0.0]])
    assert torch.equal(updated(L1, [weight], [0], 0.5).gradient(0), torch.tensor([[0.0, -0.5, 0.5, 0.0]]))


@pytest.mark.parametrize("shape", [(6, 4, 3, 3), (36, 2, 2, 1)])
@pytest.mark.parametrize("values", [[3.0], [5.0, 2.0, 0.1], [1.0, 1.0, 1.0]])
def test_nuclear_gradient_of_a_rank_deficient_weight_is_the_smallest_subgradient(
    shape: tuple[int, ...], values: list[float]
) -> None:
    weight = with_singular_values(values, shape)
    penalty = updated(Nuclear, [weight], [0])
    assert penalty.value == pytest.approx(sum(values), rel=1e-6)
    gradient = penalty.gradient(0).double()
    torch.testing.assert_close(gradient, polar_factor(weight), rtol=0, atol=1e-5)
    assert gradient.square().sum().item() == pytest.approx(len(values), rel=1e-5)


@pytest.mark.parametrize("shape", [(130, 123, 3, 3), (1100, 70, 1, 1)])
@pytest.mark.parametrize("tiny_filters", [0, 3])
def test_nuclear_norm_of_a_weight_larger_than_the_blocks_it_is_computed_in(
    shape: tuple[int, ...], tiny_filters: int
) -> None:
    weight = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    (weight if shape[0] < 1000 else weight.transpose(0, 1))[:tiny_filters] *= 3e-5
    penalty = updated(Nuclear, [weight], [0])
    assert penalty.value == pytest.approx(torch.linalg.svdvals(weight.double().flatten(1)).sum().item(), rel=1e-6)
    torch.testing.assert_close(penalty.gradient(0).double(), polar_factor(weight), rtol=0, atol=1e-5)


@pytest.mark.parametrize("smallest", [1e-2, 1e-4])
def test_nuclear_gradient_of_an_ill_conditioned_weight_keeps_unit_singular_values(smallest: float) -> None:
    weight = with_singular_values([1.0, 0.3, 10 * smallest, smallest], (4, 10, 3, 3))
    gradient = updated(Nuclear, [weight], [0]).gradient(0).double()
    torch.testing.assert_close(gradient, polar_factor(weight), rtol=0, atol=1e-5)


def test_nuclear_treats_the_rounding_of_float32_as_zero() -> None:
    weight = with_singular_values([1.0, 1e-8], (8, 3, 3, 3))
    assert updated(Nuclear, [weight], [0]).gradient(0).square().sum().item() == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_of_zeros_has_value_and_gradient_zero(kind: type[Penalty]) -> None:
    penalty = updated(kind, [torch.zeros(4, 3, 3, 3)], [0])
    assert penalty.value == 0
    assert torch.count_nonzero(penalty.gradient(0)) == 0


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_nuclear_norm_of_a_weight_that_is_not_finite_is_refused_by_name(bad: float) -> None:
    weight = torch.ones(4, 3, 3, 3)
    weight[1, 2, 0, 0] = bad
    with pytest.raises(NonFiniteError, match="4×27 weight"):
        Nuclear([weight], [0]).update()


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    magnitude=st.sampled_from([1e-6, 1e-2, 1.0, 1e3]),
    distance=st.sampled_from([1e-3, 1.0, 100.0]),
    zero_filters=st.sets(st.integers(0, 5), max_size=5),
    rank=st.integers(1, 6),
)
def test_gradient_satisfies_the_subgradient_inequality(
    kind: type[Penalty], seed: int, magnitude: float, distance: float, zero_filters: set[int], rank: int
) -> None:
    """R(y) ≥ R(x) + <g, y − x> for all y, also where x is rank-deficient or has zero filters."""
    x = magnitude * with_singular_values([1.0 / (1 + i) for i in range(rank)], (6, 4, 3, 3), seed)
    x[sorted(zero_filters)] = 0
    y = x + distance * magnitude * torch.randn(x.shape, generator=torch.Generator().manual_seed(seed + 1))
    at_x, at_y = updated(kind, [x], [0]), updated(kind, [y], [0])
    linear = at_x.value + (at_x.gradient(0).double() * (y.double() - x.double())).sum().item()
    assert at_y.value >= linear - 1e-5 * (at_x.value + at_y.value)
