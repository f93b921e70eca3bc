from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mobench.errors import NonFiniteError, UserError
from mobench.scoring.indicators.hypervolume import hypervolume, hypervolumes

UNIT2 = ((0.0, 0.0), (1.0, 1.0))
UNIT3 = ((0.0,) * 3, (1.0,) * 3)


def point_sets(max_points: int = 6, low: float = -0.5, high: float = 1.5):
    """Sets in and around the unit box in 1 to 4 dimensions, with many ties."""
    coordinate = st.one_of(st.floats(low, high), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))
    return st.tuples(st.integers(1, max_points), st.integers(1, 4)).flatmap(
        lambda shape: hnp.arrays(np.float64, shape, elements=coordinate)
    )


def unit(points: np.ndarray) -> float:
    k = points.shape[1]
    return hypervolume(points, np.zeros(k), np.ones(k))


@pytest.mark.parametrize(
    ("points", "volume"),
    [
        ([[0.0, 0.0]], 1.0),
        ([[0.5, 0.5]], 0.25),
        ([[0.25, 0.75], [0.75, 0.25]], 0.1875 + 0.1875 - 0.0625),
        # A staircase of three: 0.9·0.2 + 0.6·0.3 + 0.2·0.3.
        ([[0.1, 0.8], [0.4, 0.5], [0.8, 0.2]], 0.9 * 0.2 + 0.6 * 0.3 + 0.2 * 0.3),
        # A dominated point adds nothing.
        ([[0.5, 0.5], [0.6, 0.9]], 0.25),
    ],
)
def test_hand_computed_areas(points, volume):
    assert hypervolume(points, *UNIT2) == pytest.approx(volume, abs=1e-15)


@pytest.mark.parametrize(
    ("points", "volume"),
    [
        ([[0.5, 0.5, 0.5]], 0.125),
        # Three slabs of 1 × 1 × ½ that meet in the corner cube: 3·½ − 3·¼ + ⅛.
        ([[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5]], 0.875),
        # Two boxes of ½·¾·1 and ¾·½·½ that share ½·½·½.
        ([[0.5, 0.25, 0.0], [0.25, 0.5, 0.5]], 0.375 + 0.1875 - 0.125),
        # Points on the boundary faces z = 0 keep their whole box.
        ([[0.0, 0.9, 0.9], [0.9, 0.0, 0.9], [0.9, 0.9, 0.0]], 3 * 0.01 - 3 * 0.001 + 0.001),
    ],
)
def test_hand_computed_volumes(points, volume):
    assert hypervolume(points, *UNIT3) == pytest.approx(volume, abs=1e-15)


def test_bounds_normalise_every_axis_by_its_own_range():
    points = [[15.0, -1.0], [10.0, 1.0]]
    # z = (0.5, 0.25), (0, 0.75): 0.5·0.75 + 0.5·0.25.
    assert hypervolume(points, (10.0, -2.0), (20.0, 2.0)) == pytest.approx(0.5, abs=1e-15)


def test_one_objective_is_the_length_below_the_reference():
    assert hypervolume([[0.75], [0.25], [2.0]], [0.0], [1.0]) == 0.75


@pytest.mark.parametrize(
    "outside", [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-5.0, 1.0000001], [7.0, 7.0], [1e308, -1e308]]
)
def test_points_at_or_beyond_the_reference_contribute_nothing(outside):
    assert hypervolume([outside], *UNIT2) == 0.0
    assert hypervolume([outside, [0.5, 0.5]], *UNIT2) == 0.25


def test_points_better_than_the_ideal_are_clipped_to_it():
    assert hypervolume([[-3.0, 0.5]], *UNIT2) == 0.5
    assert hypervolume([[-3.0, -1e300]], *UNIT2) == 1.0


def test_no_points_are_zero_only_when_said_with_their_columns():
    assert hypervolume(np.empty((0, 2)), *UNIT2) == 0.0


@pytest.mark.parametrize("nothing", [[], [[]], np.empty((0, 3)), np.empty((2, 0))])
def test_nothing_without_columns_is_refused(nothing):
    with pytest.raises(UserError, match="shape"):
        hypervolume(nothing, *UNIT2)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_non_finite_points_are_refused_with_their_rows(value):
    points = np.full((4, 2), 0.5)
    points[1, 1] = points[3, 0] = value
    with pytest.raises(NonFiniteError, match=r"2 non-finite of 4 rows.*row 1: .*row 3: "):
        hypervolume(points, *UNIT2)


def test_long_lists_of_non_finite_rows_are_shortened():
    with pytest.raises(NonFiniteError, match="and 15 more"):
        hypervolume(np.full((20, 2), np.nan), *UNIT2)


@pytest.mark.parametrize(
    ("ideal", "reference", "named"),
    [
        ((0.0, 1.0), (1.0, 1.0), r"ideal\[1\]=1.0 and reference\[1\]=1.0"),
        ((0.0, 2.0), (1.0, 1.0), r"ideal\[1\]=2.0"),
        ((np.nan, 0.0), (1.0, 1.0), r"ideal\[0\]=nan"),
        ((0.0, 0.0), (np.inf, 1.0), r"reference\[0\]=inf"),
        ((-1e308, 0.0), (1e308, 1.0), r"ideal\[0\]=-1e\+308"),
        ((0.0,), (1.0, 1.0), "shape"),
        (0.0, 1.0, "shape"),
    ],
)
def test_unusable_bounds_are_refused(ideal, reference, named):
    with pytest.raises(UserError, match=named):
        hypervolume([[0.5, 0.5]], ideal, reference)


@given(points=point_sets())
@settings(max_examples=150)
def test_equals_the_exact_volume(points, exact_volume):
    assert unit(points) == pytest.approx(float(exact_volume(points.tolist())), abs=1e-14)


@pytest.mark.parametrize("k", range(2, 8))
def test_order_does_not_matter_among_ties(k):
    """Left to itself the library sums tied points in the order given, and the last bit moves."""
    generator = np.random.default_rng(k)
    for _ in range(50):
        points = generator.choice(generator.random(5), size=(12, k))
        assert unit(generator.permutation(np.concatenate([points, points[:4]]))) == unit(points)


@given(points=point_sets(max_points=12), data=st.data())
@settings(max_examples=100)
def test_order_and_duplicates_do_not_matter_to_the_last_bit(points, data):
    rows = data.draw(st.lists(st.integers(0, len(points) - 1), max_size=5))
    order = data.draw(st.permutations([*range(len(points)), *rows]))
    assert unit(points[order]) == unit(points)


@given(points=point_sets(max_points=12), data=st.data())
@settings(max_examples=100)
def test_more_or_better_points_never_lower_it(points, data):
    kept = data.draw(st.integers(0, len(points)))
    better = points - data.draw(hnp.arrays(np.float64, points.shape, elements=st.floats(0.0, 1.0)))
    assert unit(points[:kept]) <= unit(points) + 1e-14
    assert unit(points) <= unit(better) + 1e-14


@given(points=point_sets(max_points=12, low=-1e3, high=1e3))
@settings(max_examples=100)
def test_lies_in_the_unit_interval_and_is_positive_exactly_when_a_point_is_inside(points):
    volume = unit(points)
    assert 0.0 <= volume <= 1.0
    # A point closer to the reference than 1e-60 has a volume below the smallest float.
    if (points < 1.0 - 1e-9).all(axis=1).any():
        assert volume > 0.0
    if not (points < 1.0).all(axis=1).any():
        assert volume == 0.0


@given(points=point_sets(), exponent=st.integers(-30, 30))
@settings(max_examples=50)
def test_rescaling_an_objective_with_its_bounds_changes_nothing(points, exponent):
    k, scale = points.shape[1], 2.0**exponent
    scales = np.array([scale, *[1.0] * (k - 1)])
    assert hypervolume(points * scales, np.zeros(k), scales) == unit(points)


@pytest.mark.parametrize("k", range(1, 6))
def test_many_sets_at_once_are_what_each_is_alone(k):
    generator = np.random.default_rng(k)
    grid = generator.uniform(-0.1, 1.1, size=8)  # ties, points outside and points beyond the ideal
    sets = generator.permutation(np.repeat(np.arange(300), generator.integers(0, 9, size=300)))
    points = np.where(generator.random((len(sets), k)) < 0.5, generator.choice(grid, size=(len(sets), k)), 0.0)
    points += np.where(points == 0.0, generator.random(points.shape), 0.0)
    alone = [unit(points[sets == place]) for place in range(300)]
    found = hypervolumes(points, sets, 300, np.zeros(k), np.ones(k))
    assert found == pytest.approx(alone, rel=1e-15, abs=0.0)
    assert (found == 0.0).any()
    few = sets < 10
    assert (hypervolumes(points[few], sets[few], 10, np.zeros(k), np.ones(k)) == found[:10]).all()


def test_many_sets_without_a_point_have_no_volume():
    nothing = np.empty((0, 2)), np.empty(0, dtype=np.int64)
    assert hypervolumes(*nothing, 3, *UNIT2).tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(NonFiniteError, match="row 0"):
        hypervolumes([[np.nan, 0.0]], np.array([0]), 1, *UNIT2)


def test_a_set_without_volume_is_plainly_zero_beside_others():
    points = np.array([[0.5, 0.5], [2.0, 0.0]])
    volumes = hypervolumes(points, np.array([0, 1]), 3, *UNIT2)
    assert volumes.tolist() == [0.25, 0.0, 0.0] and not np.signbit(volumes).any()
