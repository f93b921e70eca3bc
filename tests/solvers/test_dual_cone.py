"""Projections on the dual cone, proved optimal by their own multipliers."""

import numpy as np
import pytest
from hypothesis import given

from mobench.solvers import project_on_dual_cone, project_primary, surgery
from tests.methods.method_steps import repeatable
from tests.solvers.gradients import independent, lengths, nearly_dependent, small_integers


def assert_optimal(gradients, targets, weights, tolerance):
    """Σ w_i g_i is the projection of Σ t_i g_i iff w − t ≥ 0, no gradient ascends, and w_j > t_j only if g_j·d = 0."""
    norms = np.where(lengths(gradients) > 0, lengths(gradients), 1.0)
    for target, row in zip(targets, weights, strict=True):
        size = np.linalg.norm(target * lengths(gradients)) or 1.0
        products = gradients @ (row @ gradients) / norms / size
        moved = (row - target) * norms / size
        assert products.min() >= -tolerance
        assert moved.min() >= 0.0
        assert np.abs(moved * products).max() <= tolerance * max(1.0, np.abs(moved).max())


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8, 16])
@pytest.mark.parametrize("decades", [0.0, 6.0])
def test_projections_are_optimal(k: int, decades: float) -> None:
    rng = np.random.default_rng(k)
    for _ in range(20):
        gradients = rng.standard_normal((k, 20)) * 10.0 ** rng.uniform(-decades, decades, (k, 1))
        for targets in (np.eye(k) / k, np.full((1, k), 1.0 / k)):
            assert_optimal(gradients, targets, project_on_dual_cone(gradients @ gradients.T, targets), 1e-9)


@given(small_integers())
@repeatable
def test_dependent_gradients_are_projected_too(gradients) -> None:
    targets = np.eye(len(gradients))
    assert_optimal(gradients, targets, project_on_dual_cone(gradients @ gradients.T, targets), 1e-6)


def test_two_gradients_are_half_of_surgery() -> None:
    gram = np.array([[4.0, -1.0], [-1.0, 2.0]])
    np.testing.assert_allclose(project_on_dual_cone(gram, np.eye(2)).sum(axis=0), surgery(gram, [[1], [0]]))


@pytest.mark.parametrize("family", [independent, nearly_dependent])
def test_the_first_projection_is_that_of_a_primary_with_its_own_constraint(family) -> None:
    """With τ = 0 PCD's projection of g_1 never ascends on g_1, so that both programs have one solution."""
    rng = np.random.default_rng(3)
    for _ in range(30):
        gram = family(rng, 4, 0.3).gram
        ours = project_on_dual_cone(gram, np.eye(4))[0] - [1.0, *project_primary(gram, 0.0).multipliers]
        assert ours @ gram @ ours <= 1e-10 * gram[0, 0]
