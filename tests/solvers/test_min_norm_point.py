from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobench.solvers import min_norm_point
from tests.solvers import reference
from tests.solvers.gradients import Array, independent, lengths, small_integers


@settings(max_examples=200)
@given(small_integers(), st.integers(-8, 8))
def test_the_weights_are_optimal_on_the_simplex(gradients: Array, exponent: int) -> None:
    gradients[-1] *= 2.0**exponent
    weights = min_norm_point(gradients @ gradients.T)
    direction = weights @ gradients
    assert (weights >= 0.0).all()
    np.testing.assert_allclose(weights.sum(), 1.0, rtol=1e-14)
    tolerance = 1e-10 * lengths(gradients) * lengths(gradients).max()
    assert (gradients @ direction >= direction @ direction - tolerance).all()


@settings(max_examples=200)
@given(small_integers(zeros=False))
def test_the_direction_is_the_oracles(gradients: Array) -> None:
    gram = gradients @ gradients.T
    direction, exact = min_norm_point(gram) @ gradients, reference.min_norm_point(gram)
    true = np.zeros_like(direction) if exact is None else np.array([float(w) for w in exact]) @ gradients
    np.testing.assert_allclose(direction, true, atol=1e-11)


@pytest.mark.parametrize("k", [2, 3, 6])
def test_permutation_and_common_scale(k: int) -> None:
    rng = np.random.default_rng(k)
    for _ in range(20):
        gram = independent(rng, k, decades=1.0).gram
        order = rng.permutation(k)
        weights = min_norm_point(gram)
        np.testing.assert_allclose(min_norm_point(gram[np.ix_(order, order)]), weights[order], rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(min_norm_point(1e12 * gram), weights, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_closed_forms_agree_with_the_general_solver(k: int) -> None:
    rng = np.random.default_rng(k)
    for _ in range(50):
        gradients = rng.standard_normal((k, 3))
        repeated = gradients[np.arange(4) % k]  # four gradients with the same hull
        general = min_norm_point(repeated @ repeated.T) @ repeated
        np.testing.assert_allclose(min_norm_point(gradients @ gradients.T) @ gradients, general, atol=1e-12)


def test_the_shorter_of_two_parallel_gradients_wins_at_its_true_length() -> None:
    assert min_norm_point(np.outer([1.0, 1000.0], [1.0, 1000.0])).tolist() == [1.0, 0.0]
    assert min_norm_point(np.outer([1000.0, 1.0], [1000.0, 1.0])).tolist() == [0.0, 1.0]


def test_two_orthogonal_gradients_of_lengths_one_and_a_million() -> None:
    weights = min_norm_point(np.diag([1.0, 1e12]))
    np.testing.assert_allclose(weights, [1.0 / (1.0 + 1e-12), 1e-12 / (1.0 + 1e-12)], rtol=1e-15)


def test_one_objective() -> None:
    assert min_norm_point(np.array([[9.0]])).tolist() == [1.0]


@pytest.mark.parametrize("k", [2, 3, 5])
def test_a_zero_gradient_takes_all_the_weight(k: int) -> None:
    gradients = np.eye(k)
    gradients[1] = 0.0
    assert min_norm_point(gradients @ gradients.T).tolist() == np.eye(k)[1].tolist()
    assert min_norm_point(np.zeros((k, k))).sum() == 1.0


@pytest.mark.parametrize("k", [2, 3, 5])
def test_duplicates(k: int) -> None:
    gradients = np.tile([3.0, 4.0], (k, 1))
    np.testing.assert_allclose(min_norm_point(gradients @ gradients.T) @ gradients, [3.0, 4.0], rtol=1e-14)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("ratio", [1.0, 0.3, 1e-5])
def test_opposites_vanish(k: int, ratio: float) -> None:
    gradients = np.random.default_rng(k).standard_normal((k, 4))
    gradients[-1] = -ratio * gradients[0]
    direction = min_norm_point(gradients @ gradients.T) @ gradients
    assert np.linalg.norm(direction) <= 1e-13


def test_margins_of_random_directions_fall_with_their_number() -> None:
    rng = np.random.default_rng(0)
    margins = []
    for k in (1, 2, 3, 4, 5, 6, 7):
        values = []
        for _ in range(200):
            unit = rng.standard_normal((k, 50))
            unit /= lengths(unit)[:, None]
            values.append(np.linalg.norm(min_norm_point(unit @ unit.T) @ unit))
        margins.append(np.mean(values))
    np.testing.assert_allclose(margins, [1.0, 0.705, 0.572, 0.491, 0.434, 0.392, 0.358], atol=0.015)
