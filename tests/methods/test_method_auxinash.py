"""AuxiNash: the bargaining equation, powers that arrive, and no wild step where no bargain exists."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import mobench
from mobench.core.method import checked_weights
from tests.methods.method_steps import direction_of, repeatable, started, step_of, weights_of


@repeatable
@given(seed=st.integers(0, 10**6), k=st.integers(2, 6), p=st.floats(0.05, 0.95))
def test_bargaining_equation_and_unit_length(seed: int, k: int, p: float) -> None:
    gradients = np.random.default_rng(seed).normal(size=(k, 12))
    alpha = weights_of("auxinash", gradients, p=p)
    powers = alpha * (gradients @ gradients.T @ alpha)
    np.testing.assert_allclose(powers, [p] + [(1 - p) / (k - 1)] * (k - 1), rtol=1e-7)
    assert (alpha > 0).all()
    assert np.linalg.norm(alpha @ gradients) == pytest.approx(1.0, rel=1e-9)


def test_orthogonal_gradients_by_hand() -> None:
    # α_i = √p_i / ‖g_i‖
    weights = weights_of("auxinash", [[2, 0], [0, 5]], p=0.64)
    np.testing.assert_allclose(weights, [0.8 / 2, 0.6 / 5], rtol=1e-9)


def test_max_norm_clips_and_never_stretches() -> None:
    gradients = np.random.default_rng(0).normal(size=(3, 5))
    assert np.linalg.norm(direction_of("auxinash", gradients, max_norm=0.25)) == pytest.approx(0.25)
    for above in (4.0, np.inf, "inf"):
        assert np.linalg.norm(direction_of("auxinash", gradients, max_norm=above)) == pytest.approx(1.0)


@pytest.mark.parametrize("gradients", [[[1, 0], [-2, 0]], np.eye(3) - 1 / 3])
def test_no_bargain_is_a_zero_step_that_is_recorded(gradients: list[list[float]]) -> None:
    step = step_of(gradients)
    np.testing.assert_array_equal(checked_weights(started("auxinash", step.k), step), np.zeros(step.k))
    assert step.notes["unsolved"] is True


def test_a_bargain_is_recorded_as_one() -> None:
    step = step_of(np.eye(2))
    checked_weights(started("auxinash", 2), step)
    assert step.notes["unsolved"] is False


def test_zero_gradient_leaves_the_bargain_to_the_others() -> None:
    # the two others have equal power: α_i = √½ / ‖g_i‖
    weights = weights_of("auxinash", [[0, 0], [2, 0], [0, 2]], p=0.9)
    np.testing.assert_allclose(weights, [0.0, np.sqrt(0.5) / 2, np.sqrt(0.5) / 2], rtol=1e-9)


@pytest.mark.parametrize("k", [2, 3, 6])
def test_no_bargain_at_pareto_stationary_points_in_float32(k: int) -> None:
    for seed in range(20):
        rows = torch.randn(k, 30, generator=torch.Generator().manual_seed(seed))
        rows[-1] = -torch.rand(k - 1, generator=torch.Generator().manual_seed(seed)) @ rows[:-1]
        assert not mobench.combine("auxinash", rows).any()
