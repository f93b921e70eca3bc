from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobench.errors import UserError
from mobench.scoring.indicators.ranks import (
    critical_difference,
    friedman_p_value,
    nemenyi_q,
    ranks_of,
)

NAN = math.nan
TABLES = st.integers(2, 5).flatmap(
    lambda k: st.lists(st.lists(st.integers(-20, 20), min_size=k, max_size=k), min_size=1, max_size=6)
)


def test_ranks_by_hand():
    values = [[0.9, 0.5, 0.7], [0.2, 0.2, 0.1], [0.3, 0.3, 0.3]]
    assert ranks_of(values, "max").tolist() == [[1, 3, 2], [1.5, 1.5, 3], [2, 2, 2]]
    assert ranks_of(values, "min").tolist() == [[3, 1, 2], [2.5, 2.5, 1], [2, 2, 2]]


@pytest.mark.parametrize("best", ["max", "min"])
def test_failures_share_the_last_places(best):
    assert ranks_of([[-1e300, NAN, 1e300]], best)[0, 1] == 3
    assert ranks_of([[5.0, NAN, 5.0, NAN]], best).tolist() == [[1.5, 3.5, 1.5, 3.5]]
    assert ranks_of([[NAN, NAN, NAN]], best).tolist() == [[2, 2, 2]]


def test_an_infinite_value_has_no_rank():
    with pytest.raises(UserError, match="finite"):
        ranks_of([[1.0, math.inf]], "max")


@given(TABLES)
@settings(max_examples=50)
def test_rank_sums_are_fixed_and_monotone_maps_change_nothing(rows):
    values = np.array(rows, dtype=float)
    ranks = ranks_of(values, "max")
    k = values.shape[1]
    assert ranks.sum(axis=1).tolist() == [k * (k + 1) / 2] * len(values)
    assert np.array_equal(ranks_of(np.exp(values / 7.0), "max"), ranks)
    assert np.array_equal(ranks_of(-(values**3), "min"), ranks)
    order = np.random.default_rng(0).permutation(k)
    assert np.array_equal(ranks_of(values[:, order], "max"), ranks[:, order])


# Demšar (2006), table 5(a): critical values of the two-tailed Nemenyi test.
@pytest.mark.parametrize(
    ("level", "table"),
    [
        (0.05, {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 6: 2.850, 7: 2.949, 8: 3.031, 9: 3.102, 10: 3.164}),
        (0.10, {2: 1.645, 3: 2.052, 4: 2.291, 5: 2.459, 6: 2.589, 7: 2.693, 8: 2.780, 9: 2.855, 10: 2.920}),
    ],
)
def test_nemenyis_critical_values_are_the_tabulated_ones(level, table):
    for k, q in table.items():
        # The table was computed with fewer digits than it shows in a few places.
        assert nemenyi_q(k, level) == pytest.approx(q, abs=1.5e-3)


# Demšar (2006), table 6: AUC of C4.5, C4.5+m, C4.5+cf and C4.5+m+cf on 14 data sets.
# Voting is printed as 0.975 (rank 2) and 0.975 (rank 3): its ranks come from digits that are not shown.
DEMSAR = np.array(
    [[0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569], [0.954, 0.971, 0.968, 0.967],
     [0.628, 0.661, 0.654, 0.657], [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931],
     [0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625], [0.775, 0.838, 0.866, 0.875],
     [1.000, 1.000, 1.000, 1.000], [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669],
     [0.972, 0.981, 0.9751, 0.975], [0.957, 0.978, 0.946, 0.970]]
)  # fmt: skip


def test_demsars_worked_example():
    ranks = ranks_of(DEMSAR, "max")
    assert ranks.mean(axis=0).round(3).tolist() == [3.143, 2.000, 2.893, 1.964]
    difference = critical_difference(4, 14)
    assert difference == pytest.approx(2.569 * math.sqrt(4 * 5 / (6 * 14)), abs=1e-3)
    # The paper: Friedman's χ² is 9.28 without its correction for ties; F rejects at 5 %.
    uncorrected = 12 * 14 / (4 * 5) * ((ranks.mean(axis=0) ** 2).sum() - 4 * 25 / 4)
    assert uncorrected == pytest.approx(9.28, abs=0.01)
    assert friedman_p_value(DEMSAR) < 0.05
    # At 5 % the difference is 1.25 and no two lie that far apart; at 10 % it is 1.12 and two pairs do, by the paper.
    means = ranks.mean(axis=0)
    apart = np.abs(means[:, None] - means)
    assert not (apart >= difference).any()
    at_ten = nemenyi_q(4, 0.10) * math.sqrt(4 * 5 / (6 * 14))
    assert (apart >= at_ten).sum() == 2 * 2


def test_too_few_blocks_have_no_critical_difference():
    for k in range(2, 12):
        found = [critical_difference(k, n) for n in range(1, 40)]
        first = next(i for i, difference in enumerate(found) if difference is not None)
        assert all(difference is None for difference in found[:first])
        known = [difference for difference in found[first:] if difference is not None]
        assert len(known) == len(found) - first
        assert known[0] < k - 1
        assert known == sorted(known, reverse=True)
    assert critical_difference(1, 9) is None


def test_friedman_of_equals_is_one_and_of_too_little_nothing():
    assert friedman_p_value(np.ones((5, 3))) == 1.0
    assert friedman_p_value(np.ones((1, 3))) is None
    assert friedman_p_value(np.ones((5, 2))) is None
    # Ten blocks in perfect agreement, k = 3: χ² = N (k − 1) = 20 and p = exp(−10).
    assert friedman_p_value([[1, 2, 3]] * 10) == pytest.approx(math.exp(-10.0))


@pytest.mark.parametrize(("k", "n"), [(3, 12), (7, 4), (7, 12)])
def test_nemenyi_rarely_finds_a_difference_among_equals(k, n):
    """Over 1,500 tables without any difference; 5 % is promised, and it must not be dead either."""
    generator = np.random.default_rng(7)
    difference = critical_difference(k, n)
    found = 0
    for _ in range(1500):
        means = ranks_of(generator.random((n, k)), "max").mean(axis=0)
        found += means.max() - means.min() >= difference
    assert found / 1500 < 0.065
    if n == 12:
        assert found / 1500 > 0.02
