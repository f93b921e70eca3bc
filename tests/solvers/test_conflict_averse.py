from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobench.solvers import conflict_averse
from tests.solvers import reference
from tests.solvers.gradients import Array, independent, small_integers


def directed(gradients: Array, c: float) -> Array:
    return conflict_averse(gradients @ gradients.T, c) @ gradients


@settings(max_examples=200)
@given(small_integers(zeros=False), st.sampled_from([0.1, 0.4, 0.9, 1.0, 1.7, 5.0]))
def test_the_direction_is_the_oracles(gradients: Array, c: float) -> None:
    mean = gradients.mean(axis=0)
    direction = directed(gradients, c)
    if not mean.any():
        assert not direction.any()
        return
    exact = reference.conflict_averse(gradients @ gradients.T, c)
    true = np.array([float(w) for w in exact]) @ gradients
    np.testing.assert_allclose(direction, true, rtol=0, atol=1e-9 * float(np.linalg.norm(mean)))


@settings(max_examples=100)
@given(small_integers(), st.sampled_from([0.2, 0.8, 1.0, 1.5, 4.0]), st.integers(0, 2**32 - 1))
def test_no_direction_in_the_ball_is_better(gradients: Array, c: float, seed: int) -> None:
    mean = gradients.mean(axis=0)
    radius = c * np.linalg.norm(mean)
    direction = directed(gradients, c)
    assert np.linalg.norm(direction - mean) <= radius * (1 + 1e-9) + 1e-12
    others = np.random.default_rng(seed).standard_normal((200, len(mean)))
    others = mean + radius * others / np.linalg.norm(others, axis=1, keepdims=True)
    best = (others @ gradients.T).min(axis=1).max()
    assert (gradients @ direction).min() >= best - 1e-9 * max(1.0, abs(best))


@pytest.mark.parametrize("k", [2, 3, 6])
def test_permutation_and_common_scale(k: int) -> None:
    rng = np.random.default_rng(k)
    for _ in range(20):
        gram = independent(rng, k, decades=0.5).gram
        order = rng.permutation(k)
        weights = conflict_averse(gram, 0.5)
        moved = conflict_averse(gram[np.ix_(order, order)], 0.5)
        np.testing.assert_allclose(moved, weights[order], rtol=1e-9)
        np.testing.assert_allclose(conflict_averse(1e-12 * gram, 0.5), weights, rtol=1e-9)


def test_a_ball_of_no_radius_is_the_mean() -> None:
    gram = independent(np.random.default_rng(0), 5).gram
    for k in (2, 3, 5):
        assert conflict_averse(gram[:k, :k], 0.0).tolist() == [1.0 / k] * k


def test_one_objective_is_lengthened() -> None:
    assert conflict_averse(np.array([[4.0]]), 0.4).tolist() == [1.4]
    assert conflict_averse(np.array([[0.0]]), 0.4).tolist() == [0.0]


@pytest.mark.parametrize("k", [2, 3, 5])
def test_duplicates_are_lengthened(k: int) -> None:
    gradients = np.tile([3.0, 4.0], (k, 1))
    np.testing.assert_allclose(directed(gradients, 0.4), [4.2, 5.6], rtol=1e-13)


@pytest.mark.parametrize("ratio", [0.3, 1e-6])
def test_opposites_of_unequal_length_shrink_the_mean(ratio: float) -> None:
    gradients = np.array([[1.0, 2.0], [-ratio, -2.0 * ratio]])
    np.testing.assert_allclose(directed(gradients, 0.4), 0.6 * gradients.mean(axis=0), rtol=1e-14)


def test_of_several_best_directions_the_nearest_to_the_mean_is_taken() -> None:
    gradients = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(directed(gradients, 0.4), [0.0, 1.0 / 3.0], atol=1e-14)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_a_zero_gradient_leaves_a_mean_that_hurts_nobody_alone(k: int) -> None:
    gradients = np.eye(k)
    gradients[-1] = 0.0
    np.testing.assert_allclose(conflict_averse(gradients @ gradients.T, 0.4), 1.0 / k, rtol=1e-14)
    assert not conflict_averse(np.zeros((k, k)), 0.4).any()


@pytest.mark.parametrize("c", [0.1, 0.4, 0.9])
@pytest.mark.parametrize("k", [2, 3, 4, 7])
def test_gradients_that_cancel_to_rounding_give_no_step_for_five_hundred_steps(k: int, c: float) -> None:
    """The double well's start: the primary's slopes are cancelled exactly by the secondaries'."""
    rng = np.random.default_rng(k)
    basis = np.linalg.qr(rng.standard_normal((50, k - 1)))[0].T
    theta = start = -0.6 * basis.sum(axis=0)
    for _ in range(500):
        s = basis @ theta
        gradients = np.vstack([4.0 * s * (s**2 - 1.0) @ basis, 0.96 * (s - 1.0)[:, None] * basis])
        theta = theta - 0.05 * directed(gradients, c)
    np.testing.assert_allclose(theta, start, rtol=0, atol=1e-13)
