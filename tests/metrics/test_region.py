from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mobench.errors import NonFiniteError, UserError
from mobench.metrics import distance_to_region, hypervolume, region_signal

BOUNDS = ((0.0, 10.0), (2.0, 20.0))


@pytest.mark.parametrize(
    ("points", "distance"),
    [
        ([[2.0, 20.0]], 0.0),
        ([[1.0, 15.0]], 0.0),
        ([[4.0, 15.0]], 1.0),
        ([[-100.0, 30.0]], 1.0),
        ([[8.0, 60.0]], 5.0),
        ([[8.0, 60.0], [2.5, 20.0]], 0.25),
    ],
)
def test_hand_computed_distances(points, distance):
    assert distance_to_region(points, *BOUNDS) == pytest.approx(distance, abs=1e-15)


def test_the_signal_is_the_hypervolume_once_that_is_positive():
    points = [[1.0, 15.0], [500.0, 500.0]]
    assert region_signal(points, *BOUNDS) == hypervolume(points, *BOUNDS) == 0.25


def test_the_signal_orders_sets_that_hypervolume_cannot():
    near, far = [[2.2, 20.0]], [[2.2, 90.0]]
    assert hypervolume(near, *BOUNDS) == hypervolume(far, *BOUNDS) == 0.0
    assert region_signal(far, *BOUNDS) < region_signal(near, *BOUNDS) == pytest.approx(-0.1)


def test_the_boundary_is_a_positive_zero():
    signal = region_signal([[2.0, 3.0]], *BOUNDS)
    assert signal == 0.0
    assert math.copysign(1.0, signal) == 1.0


def test_huge_distances_stay_finite():
    assert distance_to_region([[3e200, 4e200]], (0, 0), (1, 1)) == pytest.approx(5e200)
    assert distance_to_region([[1e308, 1.0], [3.0, 1.0]], (0, 0), (0.1, 1)) == pytest.approx(29.0)


def test_a_distance_beyond_floats_is_refused():
    with pytest.raises(NonFiniteError, match="too far"):
        distance_to_region([[1e308, 0.0]], (0, 0), (1e-10, 1))


def test_an_empty_set_has_no_distance_and_non_finite_points_no_score():
    for metric in (distance_to_region, region_signal):
        with pytest.raises(UserError, match="empty set"):
            metric(np.empty((0, 2)), *BOUNDS)
        with pytest.raises(NonFiniteError, match="row 0"):
            metric([[np.nan, 0.0]], *BOUNDS)


boxes = hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.just(3)), elements=st.floats(-2.0, 4.0))


@given(points=boxes, shift=hnp.arrays(np.float64, 3, elements=st.floats(0.0, 2.0)))
@settings(max_examples=100)
def test_worse_points_never_raise_the_signal_and_more_points_never_lower_it(points, shift):
    bounds = np.zeros(3), np.ones(3)
    signal = region_signal(points, *bounds)
    assert signal <= 1.0
    assert region_signal(points + shift, *bounds) <= signal + 1e-12
    assert region_signal(points[:1], *bounds) <= signal + 1e-12


@given(points=boxes)
@settings(max_examples=100)
def test_the_distance_is_zero_exactly_when_a_point_is_nowhere_worse_than_the_reference(points):
    reached = bool((points <= 1.0).all(axis=1).any())
    assert (distance_to_region(points, np.zeros(3), np.ones(3)) == 0.0) == reached
