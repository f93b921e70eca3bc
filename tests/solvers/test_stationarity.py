from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobench.errors import NonFiniteError, UserError
from mobench.solvers.stationarity import hull_margin, pareto_residual


def gram_of(*gradients: list[float]) -> np.ndarray:
    matrix = np.array(gradients)
    gram: np.ndarray = matrix @ matrix.T
    return gram


def test_hand_computed_residuals():
    gram = gram_of([3.0, 0.0], [0.0, 4.0])
    # The foot of the perpendicular on the segment from (3, 0) to (0, 4): 12/5.
    assert pareto_residual(gram) == pytest.approx(2.4, rel=1e-12)
    assert hull_margin(gram) == pytest.approx(np.sqrt(0.5), rel=1e-12)


def test_a_conflict_equilibrium_is_pareto_stationary_but_not_composite():
    gram = gram_of([2.0, 0.0], [-1.0, 0.0])
    assert pareto_residual(gram) == pytest.approx(0.0, abs=1e-8)
    assert hull_margin(gram) == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("k", range(2, 8))
def test_the_double_well_start(k):
    """Primary gradient 1.536·Σ u_j against −1.536·u_j each: the hull holds 0, the primary is √(K−1) long."""
    primary = np.full(k - 1, 1.536)
    gram = gram_of(primary.tolist(), *(-1.536 * np.eye(k - 1)).tolist())
    assert pareto_residual(gram) == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("k", range(1, 8))
def test_the_margin_of_orthogonal_gradients(k):
    assert hull_margin(np.diag(10.0 ** np.arange(-k, k, 2))) == pytest.approx(k**-0.5, rel=1e-12)


def test_a_composite_stationary_point_has_all_residuals_zero():
    zero = np.zeros((3, 3))
    assert pareto_residual(zero) == hull_margin(zero) == 0.0


def test_one_zero_gradient_is_pareto_stationary():
    gram = gram_of([1.0, 2.0], [0.0, 0.0])
    assert pareto_residual(gram) == hull_margin(gram) == 0.0


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 6), n=st.integers(1, 8))
@settings(max_examples=60)
def test_residuals_are_ordered_and_the_margin_is_free_of_scale(seed, k, n):
    generator = np.random.default_rng(seed)
    gradients = generator.standard_normal((k, n))
    gram = gradients @ gradients.T
    pareto, composite = pareto_residual(gram), float(np.sqrt(gram.diagonal().max()))
    assert 0.0 <= pareto <= composite * (1 + 1e-12)
    # No convex combination is shorter than the residual.
    alphas = generator.dirichlet(np.ones(k), size=50)
    assert (np.linalg.norm(alphas @ gradients, axis=1) >= pareto - 1e-7 * composite).all()
    scales = 2.0 ** generator.integers(-10, 10, size=k)
    assert hull_margin(gram * np.outer(scales, scales)) == pytest.approx(hull_margin(gram), abs=1e-7)
    assert 0.0 <= hull_margin(gram) <= 1.0


@pytest.mark.parametrize("metric", [pareto_residual, hull_margin])
def test_bad_input_is_refused(metric):
    with pytest.raises(NonFiniteError, match="Gram matrix"):
        metric([[1.0, np.nan], [np.nan, 1.0]])
    for wrong in (np.ones(3), np.ones((2, 3)), np.ones((0, 0))):
        with pytest.raises(UserError, match="shape"):
            metric(wrong)


@pytest.mark.parametrize("metric", [pareto_residual, hull_margin])
def test_one_matrix_at_a_time_where_a_problem_is_solved(metric):
    with pytest.raises(UserError, match="one K×K"):
        metric(np.ones((4, 2, 2)))
