"""FairGrad's equations hold to rounding, over scales and α."""

import warnings

import numpy as np
import pytest

from mobench.solvers import fair_allocation, nash_bargain


@pytest.mark.parametrize("alpha", [0.5, 0.9, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("k", [1, 2, 3, 8, 16])
@pytest.mark.parametrize("decades", [0.0, 2.0])
def test_the_equations_hold(k: int, alpha: float, decades: float) -> None:
    rng = np.random.default_rng(k)
    for _ in range(10):
        gradients = rng.standard_normal((k, 30)) * 10.0 ** rng.uniform(-decades, decades, (k, 1))
        gram = gradients @ gradients.T
        weights, solved = fair_allocation(gram, alpha)
        assert solved and weights.min() > 0.0
        np.testing.assert_allclose((gram @ weights) * weights ** (1.0 / alpha), np.ones(k), rtol=1e-7)


@pytest.mark.parametrize("alpha", [20.0, 100.0])
@pytest.mark.parametrize("k", [3, 5, 16])
def test_the_equations_hold_for_large_alpha_and_lengths_four_decades_apart(k: int, alpha: float) -> None:
    """A quarter of these were given up, where an objective that gains more than it is due has a weight near zero."""
    rng = np.random.default_rng(k)
    for _ in range(15):
        unit = rng.standard_normal((k, 30))
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
        lengths = 10.0 ** np.array([-2.0, 2.0, *rng.uniform(-2.0, 2.0, k - 2)])
        gradients = unit * lengths[:, None]
        gram = gradients @ gradients.T
        weights, solved = fair_allocation(gram, alpha)
        assert solved and weights.min() > 0.0
        told = weights * lengths > 1e-150 * (weights * lengths).max()
        np.testing.assert_allclose((gram @ weights * weights ** (1.0 / alpha))[told], 1.0, rtol=1e-6)
        assert (gram @ weights * weights ** (1.0 / alpha))[~told].min(initial=1.0) >= 1.0 - 1e-6, "more than is due"


def test_proportional_fairness_is_the_nash_bargain_and_continuous_there() -> None:
    gram = np.array([[4.0, -1.0, 0.5], [-1.0, 2.0, 0.3], [0.5, 0.3, 1.0]])
    nash = nash_bargain(gram, np.ones(3)).alpha
    np.testing.assert_array_equal(fair_allocation(gram, 1.0).alpha, nash)
    np.testing.assert_allclose(fair_allocation(gram, 1.0 + 1e-6).alpha, nash, rtol=1e-5)


def test_large_alpha_is_max_min() -> None:
    """All objectives end with nearly the same progress."""
    gradients = np.random.default_rng(0).standard_normal((3, 10)) * np.array([[1.0], [3.0], [0.2]])
    gram = gradients @ gradients.T
    progress = gram @ fair_allocation(gram, 50.0).alpha
    assert progress.max() / progress.min() < 1.2


@pytest.mark.parametrize("rows", [[[1, 0], [-2, 0]], [[1, 0], [-1, 1], [-1, -1]]])
def test_there_is_no_allocation_where_zero_is_in_the_hull(rows) -> None:
    gradients = np.array(rows, dtype=float)
    weights, solved = fair_allocation(gradients @ gradients.T, 2.0)
    assert not solved and not weights.any()


def test_a_zero_gradient_changes_nothing_for_the_others() -> None:
    with_zero = fair_allocation(np.diag([4.0, 0.0, 1.0]), 2.0).alpha
    without = fair_allocation(np.diag([4.0, 1.0]), 2.0).alpha
    np.testing.assert_allclose(with_zero, [without[0], 0.0, without[1]])


@pytest.mark.parametrize("alpha", [0.1, 0.5, 2.0, 20.0])
def test_lengths_that_are_decades_apart_give_no_warning(alpha: float) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4, 20)) * np.array([[1e30], [1e-35], [1.0], [1e12]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights, solved = fair_allocation(rows @ rows.T, alpha)
    assert np.isfinite(weights).all()
    assert solved == bool(weights.any())


@pytest.mark.parametrize("alpha", [0.1, 0.5, 2.0, 20.0])
def test_two_gradients_in_closed_form_are_as_newton_s_method_has_them(alpha: float) -> None:
    """With a zero gradient beside them they pass through the solver for many."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        gradients = rng.standard_normal((2, 4)) * 10.0 ** rng.uniform(-3, 3, (2, 1))
        gram = np.zeros((3, 3))
        gram[:2, :2] = gradients @ gradients.T
        (pair, solved), (three, also) = fair_allocation(gram[:2, :2], alpha), fair_allocation(gram, alpha)
        cosine = gram[0, 1] / np.sqrt(gram[0, 0] * gram[1, 1])
        assert solved and also
        np.testing.assert_allclose(pair, three[:2], rtol=1e-12 / (1.0 - abs(cosine)))
