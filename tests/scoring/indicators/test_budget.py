from __future__ import annotations

from itertools import combinations
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mobench.errors import NonFiniteError, UserError
from mobench.scoring.indicators.budget import ORDERS, expected_hypervolume
from mobench.scoring.indicators.hypervolume import hypervolume

UNIT = ((0.0, 0.0), (1.0, 1.0))

sets = st.tuples(st.integers(1, 7), st.integers(1, 4)).flatmap(
    lambda shape: hnp.arrays(
        np.float64, shape, elements=st.one_of(st.floats(-0.25, 1.25), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
    )
)


def unit_bounds(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(points.shape[1]), np.ones(points.shape[1])


def test_hand_computed_curve():
    points = [[0.5, 0.5], [0.25, 0.75], [2.0, 2.0]]
    # Alone: .25, .1875, 0. Pairs: both .3125, with the useless one .25 and .1875. All: .3125.
    curve = expected_hypervolume(points, *UNIT)
    assert curve.exact
    assert curve.expected == pytest.approx((0.4375 / 3, 0.75 / 3, 0.3125), abs=1e-15)


@given(points=sets, failed=st.integers(0, 2))
@settings(max_examples=60)
def test_equals_the_mean_over_all_subsets(points, failed):
    bounds = unit_bounds(points)
    tried = [points[i : i + 1] for i in range(len(points))] + [points[:0]] * failed
    curve = expected_hypervolume(points, *bounds, failed=failed)
    assert curve.exact
    assert len(curve.expected) == len(tried)
    for size, value in enumerate(curve.expected, start=1):
        every = [hypervolume(np.concatenate(chosen), *bounds) for chosen in combinations(tried, size)]
        assert value == pytest.approx(fmean(every), abs=1e-13)


@given(
    points=hnp.arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 3)), elements=st.floats(-0.25, 1.25)),
    data=st.data(),
)
@settings(max_examples=60)
def test_never_decreases_ends_at_the_hypervolume_and_ignores_order(points, data):
    bounds = unit_bounds(points)
    curve = expected_hypervolume(points, *bounds)
    assert all(later >= earlier for earlier, later in zip(curve.expected, curve.expected[1:], strict=False))
    assert curve.expected[-1] == pytest.approx(hypervolume(points, *bounds), abs=1e-12)
    alone = fmean(hypervolume(points[i : i + 1], *bounds) for i in range(len(points)))
    assert curve.expected[0] == pytest.approx(alone, abs=1e-12)
    shuffled = points[data.draw(st.permutations(range(len(points))))]
    assert expected_hypervolume(shuffled, *bounds).expected == pytest.approx(curve.expected, abs=1e-12)


def test_a_dense_sweep_of_equal_points_buys_nothing():
    once = expected_hypervolume([[0.5, 0.5]], *UNIT).expected
    many = expected_hypervolume([[0.5, 0.5]] * 50, *UNIT).expected
    assert many == pytest.approx(once * 50)


def test_a_failed_configuration_was_tried():
    assert expected_hypervolume([[0.5, 0.5]], *UNIT, failed=1).expected == pytest.approx((0.125, 0.25))
    assert expected_hypervolume(np.empty((0, 2)), *UNIT, failed=3).expected == (0.0, 0.0, 0.0)
    assert expected_hypervolume(np.empty((0, 2)), *UNIT).expected == ()


def test_random_orders_estimate_the_same_curve():
    points = np.random.default_rng(3).random((12, 4))
    bounds = unit_bounds(points)
    exact = expected_hypervolume(points, *bounds, failed=2)
    sampled = expected_hypervolume(points, *bounds, failed=2, max_cells=1)
    assert exact.exact
    assert not sampled.exact
    # The hypervolume of a random order at fixed m has a deviation below ½; ORDERS of them average it.
    assert sampled.expected == pytest.approx(exact.expected, abs=4 * 0.5 / ORDERS**0.5)
    assert sampled.expected[-1] == pytest.approx(exact.expected[-1], abs=1e-12)
    assert all(b >= a for a, b in zip(sampled.expected, sampled.expected[1:], strict=False))
    assert sampled == expected_hypervolume(points, *bounds, failed=2, max_cells=1)


def test_a_sweep_of_the_papers_size_is_exact_for_seven_objectives():
    generator = np.random.default_rng(0)
    points = generator.dirichlet(np.ones(7), size=19)
    curve = expected_hypervolume(points, *unit_bounds(points))
    assert curve.exact
    assert curve.expected[-1] == pytest.approx(hypervolume(points, *unit_bounds(points)), rel=1e-12)


def test_bad_input_is_refused():
    with pytest.raises(UserError, match="failed=-1"):
        expected_hypervolume([[0.5, 0.5]], *UNIT, failed=-1)
    with pytest.raises(NonFiniteError, match="row 0"):
        expected_hypervolume([[np.nan, 0.5]], *UNIT)
