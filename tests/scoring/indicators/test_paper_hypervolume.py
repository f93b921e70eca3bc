from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mobench.errors import NonFiniteError, UserError
from mobench.scoring.indicators.hypervolume import NonPositiveError, paper_hypervolume


def test_hand_computed_in_two_dimensions():
    # log10: a = (0, 2), (1, 1), (2, 0); b = (1.5, 1.5). Bounds [0, 2]²; goodness of a: (1, 0), (½, ½), (0, 1).
    found = paper_hypervolume({"a": [[1, 100], [10, 10], [100, 1]], "b": [[10**1.5, 10**1.5]]})
    assert found == pytest.approx({"a": 25.0, "b": 6.25}, abs=1e-12)


def test_hand_computed_in_three_dimensions():
    # Goodness of a: (1, ½, ½); of b: (½, 1, ½), (½, ½, 1); of the two that only span the axes: 0.
    found = paper_hypervolume(
        {
            "a": [[1, 10, 10]],
            "b": [[10, 1, 10], [10, 10, 1]],
            "span": [[100, 1, 1], [1, 100, 100]],
        }
    )
    assert found == pytest.approx({"a": 25.0, "b": 100 * (0.25 + 0.25 - 0.125), "span": 0.0}, abs=1e-12)


def test_the_ideal_point_scores_100_and_the_worst_point_0():
    assert paper_hypervolume({"best": [[1e-8, 1e-3]], "worst": [[1e4, 5.0]]}) == {"best": 100.0, "worst": 0.0}


def test_a_loss_that_never_varies_drops_out():
    two = {"a": [[1, 100], [10, 10]], "b": [[100, 1]]}
    three = {key: [[*row, 7.0] for row in rows] for key, rows in two.items()}
    assert paper_hypervolume(three) == paper_hypervolume(two)


def test_when_nothing_varies_every_point_is_ideal():
    assert paper_hypervolume({"a": [[3.0, 5.0]], "b": [[3.0, 5.0]], "c": np.empty((0, 2))}) == {
        "a": 100.0,
        "b": 100.0,
        "c": 0.0,
    }


def test_empty_sets_score_zero():
    assert paper_hypervolume({"a": np.empty((0, 2))}) == {"a": 0.0}
    assert paper_hypervolume({}) == {}


def test_keys_may_be_method_and_seed_so_that_seeds_share_the_bounds():
    found = paper_hypervolume({("pcd", 0): [[1, 10]], ("pcd", 1): [[10, 1]], ("ws", 0): [[100, 100]]})
    assert found == pytest.approx({("pcd", 0): 50.0, ("pcd", 1): 50.0, ("ws", 0): 0.0})


def test_it_moves_with_who_is_in_the_comparison():
    """Why it is never the leaderboard's own number."""
    alone = paper_hypervolume({"a": [[10, 10]], "b": [[1, 100], [100, 1]]})["a"]
    crowded = paper_hypervolume({"a": [[10, 10]], "b": [[1, 100], [100, 1]], "bad": [[1e8, 1e8]]})["a"]
    assert alone == pytest.approx(25.0)
    assert crowded == pytest.approx(100 * (7 / 8) ** 2)


@pytest.mark.parametrize("value", [0.0, -1.0, -0.0])
def test_losses_without_a_logarithm_are_refused(value):
    with pytest.raises(NonPositiveError, match=rf"loss 1 of point 2 of b is {value}.*> 0"):
        paper_hypervolume({"a": [[1.0, 1.0]], "b": [[1.0, 1.0], [2.0, 2.0], [3.0, value]]})


def test_non_finite_losses_are_refused_with_the_method():
    with pytest.raises(NonFiniteError, match=r"points of b .*row 0"):
        paper_hypervolume({"a": [[1.0, 1.0]], "b": [[np.nan, 1.0]]})


def test_sets_of_different_width_are_refused():
    with pytest.raises(UserError, match=r"\[2, 3\]"):
        paper_hypervolume({"a": [[1.0, 1.0]], "b": [[1.0, 1.0, 1.0]]})


losses = hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.just(3)), elements=st.floats(1e-6, 1e6))


@given(first=losses, second=losses)
@settings(max_examples=100)
def test_equals_the_goodness_form_of_the_paper(first, second, grid_volume):
    """Goodness 1 − x̃ against the origin, written out as the paper states it."""
    logs = np.log10(np.concatenate([first, second]))
    low, high = logs.min(axis=0), logs.max(axis=0)
    ranges = np.where(high > low, high - low, 1.0)
    found = paper_hypervolume({"first": first, "second": second})
    for name, points in (("first", first), ("second", second)):
        goodness = 1.0 - (np.log10(points) - low) / ranges
        assert found[name] == pytest.approx(100 * float(grid_volume((1.0 - goodness).tolist())), abs=1e-9)


@given(first=losses, second=losses, exponents=st.lists(st.integers(-6, 6), min_size=3, max_size=3))
@settings(max_examples=50)
def test_units_of_the_losses_do_not_matter(first, second, exponents):
    """A loss in other units is shifted in log10, which min–max takes out again."""
    spread = np.log10(np.concatenate([first, second]))
    if (np.ptp(spread, axis=0) < 1e-3).any():
        return
    units = 10.0 ** np.array(exponents)
    plain = paper_hypervolume({"a": first, "b": second})
    assert paper_hypervolume({"a": first * units, "b": second * units}) == pytest.approx(plain, abs=1e-6)
