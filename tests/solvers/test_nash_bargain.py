from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobench.solvers import nash_bargain
from tests.solvers import reference
from tests.solvers.gradients import Array, independent, nearly_dependent, small_integers


@settings(max_examples=150)
@given(small_integers(zeros=False), st.data())
def test_solved_exactly_where_zero_is_not_in_the_hull(gradients: Array, data: st.DataObject) -> None:
    gram = gradients @ gradients.T
    powers = np.array([data.draw(st.sampled_from([0.1, 0.5, 0.9])) for _ in gradients])
    alpha, solved = nash_bargain(gram, powers)
    assert solved == (reference.min_norm_point(gram) is not None)
    if solved:
        assert (alpha > 0.0).all()
        np.testing.assert_allclose(alpha * (gram @ alpha), powers, rtol=1e-9)
        np.testing.assert_allclose(alpha @ gram @ alpha, powers.sum(), rtol=1e-10)
    else:
        assert not alpha.any()


@pytest.mark.parametrize("k", [2, 3, 6])
def test_rescaling_an_objective_changes_nothing(k: int) -> None:
    rng = np.random.default_rng(k)
    for _ in range(20):
        gram, powers = independent(rng, k, decades=1.0).gram, rng.dirichlet(np.ones(k))
        factors = 10.0 ** rng.uniform(-6, 6, k)
        rescaled = nash_bargain(gram * np.outer(factors, factors), powers).alpha * factors
        np.testing.assert_allclose(rescaled, nash_bargain(gram, powers).alpha, rtol=1e-11)


@pytest.mark.parametrize("k", [2, 3, 6])
def test_permutation(k: int) -> None:
    rng = np.random.default_rng(k)
    for _ in range(20):
        gram, powers = independent(rng, k).gram, rng.dirichlet(np.ones(k))
        order = rng.permutation(k)
        moved = nash_bargain(gram[np.ix_(order, order)], powers[order]).alpha
        np.testing.assert_allclose(moved, nash_bargain(gram, powers).alpha[order], rtol=1e-11)


def test_equations_hold_near_dependence() -> None:
    rng = np.random.default_rng(0)
    for k in (2, 3, 6):
        for _ in range(30):
            sample = nearly_dependent(rng, k, decades=0.0)
            alpha, solved = nash_bargain(sample.gram, np.full(k, 1.0 / k))
            assert solved
            np.testing.assert_allclose(alpha * (sample.gram @ alpha) * k, 1.0, atol=1e-14 * sample.condition)


def test_orthogonal_gradients_are_weighted_by_the_root_of_their_power() -> None:
    for k in (1, 2, 4):
        lengths, powers = np.arange(1.0, k + 1), np.arange(1.0, k + 1) / 10
        alpha = nash_bargain(np.diag(lengths**2), powers).alpha
        np.testing.assert_allclose(alpha, np.sqrt(powers) / lengths, rtol=1e-14)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_duplicates_share_their_direction_by_power(k: int) -> None:
    powers = np.arange(1.0, k + 1) / k
    alpha, solved = nash_bargain(np.full((k, k), 4.0), powers)
    assert solved
    np.testing.assert_allclose(alpha, powers / np.sqrt(powers.sum()) / 2.0, rtol=1e-12)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("angle", [0.0, 1e-9])
def test_opposites_end_at_the_disagreement_point(k: int, angle: float) -> None:
    gradients = np.random.default_rng(k).standard_normal((k, 6))
    gradients[-1] = -3.0 * gradients[0] + angle * gradients[-1]
    alpha, solved = nash_bargain(gradients @ gradients.T, np.full(k, 1.0 / k))
    assert not solved
    assert alpha.tolist() == [0.0] * k


@pytest.mark.parametrize("k", [2, 3, 5])
def test_a_zero_gradient_leaves_its_power_to_the_others(k: int) -> None:
    rng = np.random.default_rng(k)
    gradients, powers = rng.standard_normal((k, 6)), rng.dirichlet(np.ones(k))
    gradients[1] = 0.0
    kept = np.arange(k) != 1
    alpha, solved = nash_bargain(gradients @ gradients.T, powers)
    alone = nash_bargain(gradients[kept] @ gradients[kept].T, powers[kept] / powers[kept].sum()).alpha
    assert solved
    assert alpha[1] == 0.0
    np.testing.assert_allclose(alpha[kept], alone, rtol=1e-12)


def test_all_gradients_zero() -> None:
    for k in (1, 2, 4):
        alpha, solved = nash_bargain(np.zeros((k, k)), np.ones(k))
        assert solved
        assert not alpha.any()


@pytest.mark.parametrize("k", [2, 3, 5])
def test_no_bargain_where_the_hull_is_closer_to_zero_than_is_resolved(k: int) -> None:
    gradients = np.random.default_rng(k).standard_normal((k, 6))
    gradients[-1] = 1e-5 * gradients[-1] - 1.3 * gradients[0]
    gram, powers = gradients @ gradients.T, np.full(k, 1.0 / k)
    assert nash_bargain(gram, powers).solved
    assert nash_bargain(gram, powers, resolution=1e-12).solved
    refused = nash_bargain(gram, powers, resolution=1e-8)
    assert not refused.solved
    assert not refused.alpha.any()
