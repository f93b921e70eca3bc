"""The verdict on synthetic rounds: what it catches, what it leaves alone, and how often it is wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from benchmarks.compare.statistics import (
    LEVEL,
    THRESHOLD,
    Rounds,
    hodges_lehmann,
    holm,
    is_regression,
    judge,
    ratio,
    rounds_needed,
    signed_rank,
    suspicious,
)


def noisy(
    rng: np.random.Generator, factor: float, rounds: int = 24, noise: float = 0.05, outliers: float = 0.0
) -> Rounds:
    """Rounds whose phases, shared by both sides, vary by 30 %, each side by `noise`; outliers are twice too long."""
    phase = np.exp(rng.normal(0.0, 0.3, rounds))
    base, head = (phase * np.exp(rng.normal(0.0, noise, rounds)) for _ in range(2))
    for side in (base, head):
        side[rng.random(rounds) < outliers] *= 2.0
    return Rounds(tuple(base), tuple(head * factor))


def test_a_slowdown_of_twenty_percent_is_caught_among_sixty_benchmarks() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        measured = {f"same {i}": noisy(rng, 1.0) for i in range(59)} | {"slow": noisy(rng, 1.2)}
        assert "slow" in suspicious(measured)
        verdicts = judge({name: measured[name] for name in suspicious(measured)})
        assert [name for name, verdict in verdicts.items() if is_regression(verdict)] == ["slow"]


def test_outliers_cost_power_and_more_rounds_bring_it_back() -> None:
    """One round of fifty twice too long on either side: about 95 % are caught in 24 rounds, all in 40."""
    rng, trials = np.random.default_rng(5), 40

    def caught(rounds: int) -> int:
        seen = (judge({"a": noisy(rng, 1.2, rounds, outliers=0.02)})["a"] for _ in range(trials))
        return sum(map(is_regression, seen))

    assert caught(24) >= 0.8 * trials
    assert caught(40) >= 0.95 * trials


def test_a_speedup_is_no_regression() -> None:
    verdict = judge({"fast": noisy(np.random.default_rng(1), 1 / 1.3)})["fast"]
    assert verdict.change == "faster" and not is_regression(verdict) and verdict.ratio < 0.9


def test_equal_sides_give_no_alarm_whatever_the_noise() -> None:
    rng = np.random.default_rng(2)
    for noise in (0.01, 0.1, 0.5):
        for _ in range(4):
            verdicts = judge({str(i): noisy(rng, 1.0, noise=noise) for i in range(20)})
            assert {verdict.change for verdict in verdicts.values()} == {"same"}


def test_the_significance_alone_keeps_its_level() -> None:
    rng = np.random.default_rng(3)
    families = 100
    wrong = sum(
        min(holm({str(i): signed_rank(rng.normal(size=12)) for i in range(10)}).values()) < 0.05
        for _ in range(families)
    )
    assert stats.binomtest(wrong, families, 0.05, alternative="greater").pvalue > 1e-4


def test_a_significant_change_below_the_threshold_is_no_alarm() -> None:
    verdict = judge({"a": noisy(np.random.default_rng(4), 1.05, rounds=30, noise=0.005)})["a"]
    assert verdict.p < LEVEL and 1.04 < verdict.ratio < THRESHOLD and verdict.change == "same"


def test_a_large_ratio_without_agreement_is_no_alarm() -> None:
    rounds = Rounds((1.0,) * 8, (3.0, 3.0, 3.0, 3.0, 3.0, 0.5, 0.4, 0.3))
    verdict = judge({"a": rounds})["a"]
    assert verdict.ratio > THRESHOLD and verdict.change == "same"


def test_the_estimate_is_the_median_of_the_pairwise_means() -> None:
    assert hodges_lehmann([1.0, 2.0, 9.0]) == 3.5  # of 1, 1.5, 2, 5, 5.5, 9
    assert hodges_lehmann([4.0]) == 4.0 and math.isnan(hodges_lehmann([]))
    assert ratio(Rounds((1.0, 2.0), (1.5, 3.0))) == pytest.approx(1.5)


def test_the_test_is_exact_for_few_rounds() -> None:
    for count in (5, 11, 16):
        assert signed_rank([0.1 + i for i in range(count)]) == pytest.approx(2.0 ** (1 - count))
    assert signed_rank([0.0] * 9) == 1.0


def test_holm_multiplies_by_the_hypotheses_left_and_never_decreases() -> None:
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx({"a": 0.03, "c": 0.06, "b": 0.06})
    assert holm({"a": 0.9, "b": 0.8}) == {"b": 1.0, "a": 1.0}
    assert holm({}) == {}


@pytest.mark.parametrize("count", [1, 2, 10, 60, 1000])
def test_rounds_needed_is_the_first_number_that_can_be_significant(count: int) -> None:
    rounds = rounds_needed(count)
    assert count * 2.0 ** (1 - rounds) < LEVEL <= count * 2.0 ** (2 - rounds)


def test_failures_are_told_apart() -> None:
    fine, broken = (1.0, 1.0), (1.0, None)
    verdicts = judge({"head": Rounds(fine, broken), "base": Rounds(broken, fine), "both": Rounds((None,), (None,))})
    assert {name: verdict.change for name, verdict in verdicts.items()} == {
        "head": "failed",
        "base": "fixed",
        "both": "broken",
    }
    assert [name for name, verdict in verdicts.items() if is_regression(verdict)] == ["head"]
    assert suspicious({"head": Rounds(fine, broken)}) == []


def test_what_was_given_up_is_not_judged_and_still_counts_in_the_correction() -> None:
    slow = Rounds(tuple(1.0 + 0.001 * i for i in range(12)), tuple(1.3 + 0.001 * i for i in range(12)))
    alone = judge({"slow": slow})["slow"]
    beside = judge({"slow": slow, "other": slow}, given_up=["other"])
    assert beside["slow"].p == pytest.approx(2 * alone.p)
    assert beside["slow"].change == "slower"
    assert (beside["other"].change, beside["other"].p) == ("same", 1.0)


def test_rounds_follow_earlier_ones() -> None:
    first, second = Rounds((1.0,), (2.0,)), Rounds((3.0, None), (4.0, 5.0))
    assert second.after(None) is second
    assert second.after(first) == Rounds((1.0, 3.0, None), (2.0, 4.0, 5.0))
