from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mobench.errors import NonFiniteError, UserError
from mobench.scoring.indicators.distance import gd_plus, igd_plus

UNIT = ((0.0, 0.0), (1.0, 1.0))
FRONT = np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])

sets = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 6), st.just(3)), elements=st.integers(-8, 8).map(lambda n: n / 4)
)


def worse_by(front: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The distances d⁺(z, a), one row per front point, spelled out."""
    return np.array(
        [[np.sqrt(sum(max(a - z, 0.0) ** 2 for z, a in zip(zs, xs, strict=True))) for xs in points] for zs in front]
    )


def test_hand_computed_values():
    points = [[0.5, 0.75], [1.0, 0.5]]
    # To (0, 1): .5 (from the first); to (.5, .5): .25; to (1, 0): .5 (from the second).
    assert igd_plus(points, FRONT, *UNIT) == pytest.approx((0.5 + 0.25 + 0.5) / 3, abs=1e-15)
    # The first is .25 behind (.5, .5); the second .5 behind (1, 0) and (.5, .5).
    assert gd_plus(points, FRONT, *UNIT) == pytest.approx((0.25 + 0.5) / 2, abs=1e-15)


def test_only_what_is_worse_counts():
    """A point that dominates a front point is at distance 0 of it; plain IGD would punish it."""
    assert igd_plus([[-5.0, -5.0]], FRONT, *UNIT) == 0.0
    assert gd_plus([[-5.0, -5.0]], FRONT, *UNIT) == 0.0


def test_igd_sees_missing_coverage_and_gd_does_not():
    assert gd_plus([[0.0, 1.0]], FRONT, *UNIT) == 0.0
    assert igd_plus([[0.0, 1.0]], FRONT, *UNIT) == pytest.approx((0.0 + 0.5 + 1.0) / 3)


def test_distances_are_taken_in_the_frozen_normalisation():
    scales, offset = np.array([1e-3, 1e4]), np.array([5.0, -7.0])
    points = np.array([[0.5, 0.75], [1.0, 0.5]])
    bounds = offset, offset + scales
    for metric in (igd_plus, gd_plus):
        scaled = metric(points * scales + offset, FRONT * scales + offset, *bounds)
        assert scaled == pytest.approx(metric(points, FRONT, *UNIT), rel=1e-9)


def test_bounds_do_not_come_from_the_front():
    half = (0.0, 0.0), (2.0, 2.0)
    assert igd_plus([[1.0, 1.0]], [[0.0, 0.0]], *half) == pytest.approx(np.sqrt(0.5))


@given(points=sets, front=sets)
@settings(max_examples=100)
def test_both_equal_the_definition(points, front):
    bounds = np.zeros(3), np.ones(3)
    matrix = worse_by(front, points)
    assert igd_plus(points, front, *bounds) == pytest.approx(matrix.min(axis=1).mean(), abs=1e-12)
    assert gd_plus(points, front, *bounds) == pytest.approx(matrix.min(axis=0).mean(), abs=1e-12)


@given(points=sets, front=sets)
@settings(max_examples=100)
def test_zero_exactly_under_weak_dominance(points, front):
    bounds = np.zeros(3), np.ones(3)
    dominates = (points[None, :, :] <= front[:, None, :]).all(axis=2)
    assert (igd_plus(points, front, *bounds) == 0.0) == bool(dominates.any(axis=1).all())
    assert (gd_plus(points, front, *bounds) == 0.0) == bool(dominates.any(axis=0).all())


@given(points=sets, front=sets, more=sets)
@settings(max_examples=50)
def test_igd_never_grows_with_more_or_better_points(points, front, more):
    bounds = np.zeros(3), np.ones(3)
    value = igd_plus(points, front, *bounds)
    assert igd_plus(np.concatenate([points, more]), front, *bounds) <= value + 1e-12
    assert igd_plus(points - 0.25, front, *bounds) <= value + 1e-12


@pytest.mark.parametrize("metric", [igd_plus, gd_plus])
def test_empty_and_non_finite_sets_are_refused(metric):
    with pytest.raises(UserError, match="points has 0 rows"):
        metric(np.empty((0, 2)), FRONT, *UNIT)
    with pytest.raises(UserError, match="front has 0 rows"):
        metric(FRONT, np.empty((0, 2)), *UNIT)
    with pytest.raises(NonFiniteError, match=r"points .*row 1"):
        metric([[0.0, 0.0], [np.inf, 0.0]], FRONT, *UNIT)
    with pytest.raises(NonFiniteError, match=r"front .*row 0"):
        metric(FRONT, [[np.nan, 0.0]], *UNIT)
    with pytest.raises(UserError, match="shape"):
        metric(FRONT, np.zeros((2, 3)), *UNIT)


@pytest.mark.parametrize("metric", [igd_plus, gd_plus])
def test_a_distance_beyond_floats_is_refused(metric):
    with pytest.raises(NonFiniteError, match="too far"):
        metric([[1e308, 0.0]], [[0.0, 0.0]], (0.0, 0.0), (1e-10, 1.0))
