from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobench.errors import NonFiniteError, UserError
from mobench.metrics import paired_difference
from mobench.metrics.pairs import EXACT_SEEDS, sign_flip_p_value


def test_differences_are_taken_seed_by_seed():
    first, second = {0: 1.0, 7: 2.0, 3: 5.0}, {3: 4.0, 0: 3.0, 7: 1.0}
    found = paired_difference(first, second)
    assert found.interval.mean == 0.0
    assert found.interval.n == 3
    assert (found.interval.low, found.interval.high) == (-2.0, 1.0)


def test_pairing_sees_what_the_means_cannot():
    """Seeds differ by 100, the methods by 1: far apart per seed, lost in the spread of the means."""
    seeds = range(8)
    found = paired_difference({s: 100.0 * s + 1.0 + 0.01 * s for s in seeds}, {s: 100.0 * s for s in seeds})
    assert found.interval.excludes(0.0)
    assert found.p_value == 2 / 2**8
    assert not found.is_noise()


@pytest.mark.parametrize("n", range(1, 8))
def test_the_p_value_has_a_floor_that_few_seeds_cannot_pass(n):
    differences = np.arange(1.0, n + 1.0)
    assert sign_flip_p_value(differences) == 2.0 ** (1 - n)
    assert paired_difference(dict(enumerate(differences)), dict.fromkeys(range(n), 0.0)).is_noise() == (n < 6)


def test_hand_counted_p_value():
    # |±1 ±2 ±4 ∓3| ≥ |1 + 2 + 4 − 3| = 4: sums of all 16 patterns are ±10, ±8, ±6, ±4, ±4, ±2, ±2, 0, 0.
    sums = sorted(abs(a + 2 * b + 4 * c + 3 * d) for a in (1, -1) for b in (1, -1) for c in (1, -1) for d in (1, -1))
    assert sign_flip_p_value(np.array([1.0, 2.0, 4.0, -3.0])) == sum(s >= 4 for s in sums) / 16 == 10 / 16


def test_equal_methods_are_noise():
    found = paired_difference({0: 0.3, 1: 0.4}, {0: 0.3, 1: 0.4})
    assert found.p_value == 1.0
    assert found.is_noise()
    assert not found.interval.excludes(0.0)


def test_ties_are_not_lost_to_rounding():
    """In floats −0.7 − 0.4 + 0.4 and −0.7 + 0.4 − 0.4 differ; three of four patterns reach |Σ| = 0.7."""
    assert sign_flip_p_value(np.array([-0.7, -0.4, 0.4])) == 0.75


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=9))
@settings(max_examples=50)
def test_swapping_the_methods_flips_the_interval_and_keeps_the_p_value(values):
    first, zero = dict(enumerate(map(float, values))), dict.fromkeys(range(len(values)), 0.0)
    there, back = paired_difference(first, zero), paired_difference(zero, first)
    assert there.interval.mean == -back.interval.mean
    assert there.p_value == back.p_value
    assert 2.0 ** (1 - len(values)) <= there.p_value <= 1.0


def test_many_seeds_are_sampled_and_agree_with_the_normal_limit():
    differences = np.random.default_rng(0).standard_normal(EXACT_SEEDS + 26)
    differences += 0.3 - differences.mean()
    p_value = sign_flip_p_value(differences)
    from scipy import stats

    score = differences.sum() / np.sqrt((differences**2).sum())
    assert p_value == pytest.approx(2 * stats.norm.sf(score), abs=0.02)
    assert p_value == sign_flip_p_value(differences)
    assert sign_flip_p_value(np.ones(40)) > 0.0


def test_unpaired_seeds_and_non_finite_values_are_refused():
    with pytest.raises(UserError, match=r"\[1, 2\]"):
        paired_difference({0: 1.0, 1: 1.0}, {0: 1.0, 2: 1.0})
    with pytest.raises(UserError, match="no seeds"):
        paired_difference({}, {})
    with pytest.raises(NonFiniteError):
        paired_difference({0: float("nan"), 1: 1.0}, {0: 1.0, 1: 2.0})
