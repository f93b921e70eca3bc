"""MGDA: exact answers, and normalisations that are applied to the gradients they were solved for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobench.core.method import checked_weights
from tests.methods.method_steps import direction_of, repeatable, started, step_of, weights_of


@pytest.mark.parametrize(
    ("gradients", "weights"),
    [
        ([[1, 0], [0, 1]], [0.5, 0.5]),
        ([[2, 0], [0, 1]], [0.2, 0.8]),
        ([[1, 0], [1, 1]], [1.0, 0.0]),
        ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [1 / 3, 1 / 3, 1 / 3]),
    ],
)
def test_by_hand(gradients: list[list[float]], weights: list[float]) -> None:
    np.testing.assert_allclose(weights_of("mgda", gradients), weights, rtol=1e-12, atol=1e-15)


def test_long_gradient_beside_a_short_one_gets_no_weight() -> None:
    # A solver that clamps its weights to [0.001, 0.999] returns twice this length.
    direction = direction_of("mgda", [[1, 0], [1000, 0]])
    np.testing.assert_array_equal(direction, [1.0, 0.0])


LOSSES, BOUNDS = np.array([2.0, 0.5, 5.0]), np.array([1.0, -np.inf, 1.0])
GAPS = np.array([1.0, 0.5, 4.0])


@pytest.mark.parametrize("normalization", ["l2", "loss", "loss+"])
@repeatable
@given(seed=st.integers(0, 10**6))
def test_normalised_gradients_are_solved_and_applied(normalization: str, seed: int) -> None:
    gradients = np.random.default_rng(seed).normal(size=(3, 5))
    norms = np.linalg.norm(gradients, axis=1)
    divisors = {"l2": norms, "loss": GAPS, "loss+": GAPS * norms}[normalization]
    normalised = gradients / divisors[:, None]
    expected = weights_of("mgda", normalised) @ normalised
    method = started("mgda", 3, normalization=normalization)
    direction = checked_weights(method, step_of(gradients, LOSSES, BOUNDS)) @ gradients
    np.testing.assert_allclose(direction, expected, atol=1e-9)
    # optimality for the normalised gradients: none of them advances less than ‖d‖²
    assert (normalised @ direction).min() >= direction @ direction - 1e-9


def test_l2_with_a_zero_gradient_stops_without_dividing_by_zero() -> None:
    np.testing.assert_array_equal(direction_of("mgda", [[0, 0], [3, 4]], normalization="l2"), [0.0, 0.0])


def test_loss_at_its_bound_is_finite() -> None:
    step = step_of([[1, 0], [0, 1]], [0.0, 1.0], [0.0, 0.0])
    direction = checked_weights(started("mgda", 2, normalization="loss"), step)
    # the first normalised gradient is 1e8 long, the second 1: the shortest combination is nearly the second
    np.testing.assert_allclose(direction, [1e-8, 1.0], rtol=1e-7)
