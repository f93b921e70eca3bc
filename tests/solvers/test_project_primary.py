from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobench.solvers import Projection, project_primary
from tests.solvers import reference
from tests.solvers.gradients import Array, independent, lengths, small_integers

TAUS = st.sampled_from([0.0, 0.0, 0.02, 0.5, 1.0])


def projected(gradients: Array, tau: float | list[float]) -> tuple[Projection, Array]:
    projection = project_primary(gradients @ gradients.T, tau)
    return projection, gradients[0] + projection.multipliers @ gradients[1:]


@settings(max_examples=200)
@given(small_integers(), st.data())
def test_optimality_conditions_hold_exactly_where_the_oracle_finds_a_solution(
    gradients: Array, data: st.DataObject
) -> None:
    tau = [data.draw(TAUS) for _ in gradients[1:]]
    projection, direction = projected(gradients, tau)
    norms = lengths(gradients[1:])
    kept = norms > 0.0
    exact = reference.project_primary(
        gradients[[True, *kept]] @ gradients[[True, *kept]].T, [t for t, keep in zip(tau, kept, strict=True) if keep]
    )
    assert projection.feasible == (exact is not None)
    assert (projection.multipliers >= 0.0).all()
    np.testing.assert_array_equal(projection.active, projection.multipliers > 0.0)
    if exact is None:
        assert not projection.multipliers.any()
        return
    slack = gradients[1:] @ direction - np.array(tau) * norms**2
    tolerance = 1e-9 * norms * (np.linalg.norm(direction) + np.linalg.norm(gradients[0]))
    assert (slack >= -tolerance).all()
    assert (abs(slack[projection.active]) <= tolerance[projection.active]).all()
    assert not projection.multipliers[~kept].any()
    true = np.array([float(weight) for weight in exact]) @ gradients[[True, *kept]]
    np.testing.assert_allclose(direction, true, rtol=0, atol=1e-9 * max(1.0, float(np.linalg.norm(true))))


@pytest.mark.parametrize("k", [2, 3, 6])
def test_permuting_the_secondaries_permutes_the_multipliers(k: int) -> None:
    rng = np.random.default_rng(k)
    for _ in range(20):
        gram, tau = independent(rng, k, decades=1.0).gram, rng.uniform(0.0, 1.0, k - 1)
        order = rng.permutation(k - 1)
        full = np.array([0, *(order + 1)])
        moved = project_primary(gram[np.ix_(full, full)], tau[order])
        np.testing.assert_allclose(
            moved.multipliers, project_primary(gram, tau).multipliers[order], rtol=1e-10, atol=1e-14
        )


@pytest.mark.parametrize("k", [2, 3, 6])
def test_a_longer_secondary_with_a_smaller_share_is_the_same_constraint(k: int) -> None:
    rng = np.random.default_rng(k)
    for _ in range(20):
        gram, tau = independent(rng, k, decades=1.0).gram, rng.uniform(0.0, 1.0, k - 1)
        factors = 10.0 ** rng.uniform(-5, 5, k - 1)
        scale = np.array([1.0, *factors])
        rescaled = project_primary(gram * np.outer(scale, scale), tau / factors).multipliers * factors
        np.testing.assert_allclose(rescaled, project_primary(gram, tau).multipliers, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("k", [2, 3, 6])
def test_a_larger_tau_moves_the_projection_further_from_the_primary(k: int) -> None:
    gradients = np.random.default_rng(k).standard_normal((k, 9))
    distances = [np.linalg.norm(projected(gradients, tau)[1] - gradients[0]) for tau in np.linspace(0.0, 1.0, 11)]
    assert distances[-1] > distances[0]
    assert (np.diff(distances) >= 0.0).all()


def test_two_objectives_in_the_papers_closed_form() -> None:
    gradients = np.array([[1.0, 0.0], [-3.0, 4.0]])
    projection, direction = projected(gradients, 0.5)
    assert projection.multipliers.tolist() == [0.5 + 3.0 / 25.0]
    np.testing.assert_allclose(gradients[1] @ direction, 12.5)


def test_a_satisfied_constraint_leaves_the_primary_alone() -> None:
    for k in (2, 3, 5):
        projection = project_primary(np.ones((k, k)), 0.5)
        assert projection.feasible
        assert not projection.active.any()
        assert not projection.multipliers.any()


def test_one_objective_has_no_multipliers() -> None:
    projection = project_primary(np.array([[4.0]]), 0.5)
    assert projection.multipliers.shape == projection.active.shape == (0,)
    assert projection.feasible


@pytest.mark.parametrize("k", [2, 3, 5])
def test_zero_secondaries_constrain_nothing(k: int) -> None:
    gradients = np.zeros((k, 3))
    gradients[0] = 1.0
    projection, _ = projected(gradients, 1.0)
    assert projection.feasible
    assert not projection.multipliers.any()


@pytest.mark.parametrize("k", [2, 3, 5])
def test_a_zero_primary_still_serves_the_secondaries(k: int) -> None:
    gradients = np.vstack([np.zeros(k), np.eye(k)[1:]])
    projection, direction = projected(gradients, 0.25)
    np.testing.assert_allclose(projection.multipliers, 0.25, rtol=1e-15)
    np.testing.assert_allclose(direction[1:], 0.25, rtol=1e-15)


@pytest.mark.parametrize("copies", [2, 3, 4])
def test_duplicate_secondaries_count_once(copies: int) -> None:
    gradients = np.array([[1.0, 2.0], *[[-3.0, 1.0]] * copies])
    projection, direction = projected(gradients, 0.3)
    assert projection.feasible
    np.testing.assert_allclose(direction, projected(gradients[:2], 0.3)[1], rtol=1e-13)


@pytest.mark.parametrize("more", [0, 2])
def test_opposite_secondaries_are_infeasible_unless_nothing_is_asked_of_them(more: int) -> None:
    gradients = np.array([[1.0, 2.0, 0.5], [3.0, 0.1, 0.7], [-3.0, -0.1, -0.7], *[[0.0, 1.0, 0.2]] * more])
    gram = gradients @ gradients.T
    asked_of_both, asked_of_one = [0.1, 0.1] + [0.1] * more, [0.0, 1e-6] + [0.1] * more
    asked_of_others = [0.0, 0.0] + [0.1] * more
    for tau in (asked_of_both, asked_of_one):
        projection = project_primary(gram, tau)
        assert not projection.feasible
        assert not projection.multipliers.any()
    for tau in (asked_of_others, [0.0] * (2 + more)):
        projection, direction = projected(gradients, tau)
        assert projection.feasible
        np.testing.assert_allclose(gradients[1] @ direction, 0.0, atol=1e-12)


@pytest.mark.parametrize("k", [3, 4, 6])
def test_infeasibility_does_not_depend_on_the_size_of_tau_or_of_the_gradients(k: int) -> None:
    rng = np.random.default_rng(k)
    secondaries = rng.standard_normal((k - 1, 8))
    secondaries[-1] = -rng.uniform(0.5, 1.0, k - 2) @ secondaries[:-1]
    gradients = np.vstack([rng.standard_normal(8), secondaries * 10.0 ** rng.uniform(-6, 6, (k - 1, 1))])
    gram = gradients @ gradients.T
    for tau in (1e-9, 0.02, 1.0):
        assert not project_primary(gram, tau).feasible
    assert project_primary(gram, 0.0).feasible


@pytest.mark.parametrize("k", [3, 4, 6])
def test_secondaries_a_millionth_from_dependence_are_feasible_and_exact(k: int) -> None:
    rng = np.random.default_rng(k)
    secondaries = rng.standard_normal((k - 1, 8))
    secondaries[-1] = 1e-6 * secondaries[-1] - rng.uniform(0.5, 1.0, k - 2) @ secondaries[:-1]
    gradients = np.vstack([rng.standard_normal(8), secondaries])
    gram = gradients @ gradients.T
    projection = project_primary(gram, 0.1)
    exact = reference.project_primary(gram, [0.1] * (k - 1))
    assert projection.feasible
    assert exact is not None
    assert reference.direction_error(gram, [1.0, *projection.multipliers.tolist()], exact) < 1e-2


def test_a_gram_matrix_in_single_precision_is_solved_without_complaint() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        gradients = rng.standard_normal((8, 3)).astype(np.float32)
        rough = gradients @ gradients.T
        projection = project_primary(((rough + rough.T) / 2).astype(np.float64), 0.02)
        assert np.isfinite(projection.multipliers).all()


@pytest.mark.parametrize("k", [3, 4, 6])
def test_the_resolution_decides_what_counts_as_contradiction_and_changes_nothing_else(k: int) -> None:
    rng = np.random.default_rng(k)
    secondaries = rng.standard_normal((k - 1, 8))
    secondaries[-1] = 1e-4 * secondaries[-1] - rng.uniform(0.5, 1.0, k - 2) @ secondaries[:-1]
    gradients = np.vstack([rng.standard_normal(8), secondaries])
    gram = gradients @ gradients.T
    plain = project_primary(gram, 0.1)
    for resolution in (1e-14, 1e-11):
        projection = project_primary(gram, 0.1, resolution)
        assert projection.feasible
        np.testing.assert_array_equal(projection.multipliers, plain.multipliers)
    assert not project_primary(gram, 0.1, 1e-6).feasible
    np.testing.assert_array_equal(project_primary(gram, 0.0, 1e-6).multipliers, project_primary(gram, 0.0).multipliers)


def test_secondaries_in_a_narrow_cone_against_the_primary_are_met_exactly() -> None:
    gradients = np.array([[1.0, 0.0], [-1.0, 1e-5], [-1.0, -1e-5], [-1.0, 0.0]])
    _, direction = projected(gradients, 1e-4)
    np.testing.assert_allclose(direction, [-1e-4, 0.0], rtol=1e-8, atol=1e-11)
