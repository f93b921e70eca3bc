"""Two contenders compared: exact p-values, failures that lose, and verdicts that say what cannot be told."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata, wilcoxon

from mobench.errors import UserError
from mobench.reporting.notes import verdict_on_pair
from mobench.scoring.contests import Contest
from mobench.scoring.indicators.signed_rank import holm, signed_rank_p_value, smallest_p_value
from mobench.scoring.pairs import compare_pair


def enumerated(values):
    """The p-value by trying every assignment of signs."""
    ranks = rankdata(np.abs(values))
    centre = ranks.sum() / 2
    observed = abs(ranks[np.asarray(values) > 0].sum() - centre)
    sums = [np.dot(ranks, signs) for signs in itertools.product((0, 1), repeat=len(ranks))]
    return np.mean([abs(total - centre) >= observed - 1e-9 for total in sums])


SAMPLES = ([1.0], [1, 2, 3], [1, -1, 2, 2, -3], [0.5, 0.5, 0.5, -0.5], [3, -1, 4, -1, 5, 9, -2, 6])


@pytest.mark.parametrize("values", SAMPLES)
def test_the_p_value_is_that_of_all_signs(values):
    assert signed_rank_p_value(values) == pytest.approx(enumerated(values), abs=1e-14)


def test_the_p_value_is_scipys_where_that_is_exact():
    values = np.random.default_rng(0).normal(0.3, 1.0, 40)
    assert signed_rank_p_value(values) == pytest.approx(wilcoxon(values, method="exact").pvalue, abs=1e-12)


def test_zeros_are_no_evidence():
    assert signed_rank_p_value([0.0, 0.0]) is None
    assert signed_rank_p_value([0.0, 1.0, 2.0, 3.0]) == signed_rank_p_value([1.0, 2.0, 3.0]) == smallest_p_value(3)


def test_holms_rule():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def contest(number, best="max", **values):
    frame = pd.DataFrame(values, index=pd.Index(range(len(next(iter(values.values())))), name="seed"))
    tried = dict.fromkeys(values, 1)
    return Contest("suite", "standard", "p@1", f"i{number}", f"instance {number}", "hypervolume", best, frame, tried)


def test_a_contest_is_paired_by_seed():
    pair = compare_pair([contest(0, a=[0.5, 0.7, 0.9], b=[0.4, 0.6, 0.95])], "a", "b")
    (row,) = pair.frame.to_dict("records")
    assert (row["won"], row["lost"], row["tied"]) == (2, 1, 0)
    assert row["difference"] == pytest.approx(0.05)
    assert row["p"] == pytest.approx(enumerated([0.1, 0.1, -0.05]))


def test_lower_is_better_where_the_contest_says_so():
    pair = compare_pair([contest(0, "min", a=[1.0, 2.0], b=[3.0, 4.0])], "a", "b")
    assert pair.frame["difference"].tolist() == [2.0] and pair.frame["won"].tolist() == [2]


def test_a_failed_run_loses():
    pair = compare_pair([contest(0, a=[math.nan, 0.1, math.nan], b=[0.2, 0.1, math.nan])], "a", "b")
    assert pair.frame[["won", "lost", "tied"]].iloc[0].tolist() == [0, 1, 2]
    assert pair.frame["difference"].tolist() == [0.0]


def test_the_verdict_says_what_cannot_be_told():
    few = compare_pair([contest(n, a=[1.0, 1.0], b=[0.0, 0.0]) for n in range(3)], "a", "b")
    assert few.p == 0.25
    assert "does not tell them apart" in verdict_on_pair(few) and "p is never below 0.25" in verdict_on_pair(few)
    many = compare_pair([contest(n, a=[1.0], b=[0.0]) for n in range(8)], "a", "b")
    assert many.p == 2**-7 and verdict_on_pair(many).endswith("a is better.")
    equal = compare_pair([contest(0, a=[1.0], b=[1.0])], "a", "b")
    assert equal.p is None and "equal everywhere" in verdict_on_pair(equal)


def test_mistakes():
    with pytest.raises(UserError, match=r"'aa'.*Did you mean 'a'"):
        compare_pair([contest(0, a=[1.0], b=[1.0])], "aa", "b")
    with pytest.raises(UserError, match="with itself"):
        compare_pair([contest(0, a=[1.0], b=[1.0])], "a", "a")
