"""When a benchmark counts as slower: paired rounds, a signed-rank test, Holm's correction, a threshold.

A round starts a new process for each revision and measures both one after the other. Samples within
a process share its memory layout and the machine's mood, so they are no independent evidence: a
round gives one number, the ratio r = head/base of asv's medians. asv's own test takes all samples as
independent and reports differences between two processes of the same revision.

    ratio   the Hodges-Lehmann estimate over rounds: exp of the median of (log r_i + log r_j) / 2, i ≤ j
    p       Wilcoxon's signed-rank test of the log r_i, two-sided, times Holm's factor

A benchmark is slower if ratio ≥ THRESHOLD and p < LEVEL, and faster if the same holds for 1/ratio. So
an unchanged tree gives a false alarm with a probability below LEVEL / 2, whatever the number of
benchmarks, and far below it where noise does not reach the threshold.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from scipy import stats

THRESHOLD = 1.10
LEVEL = 0.002
"""The level at which asv tests differences."""

Change = Literal["slower", "faster", "same", "failed", "fixed", "broken"]
"""`failed`: on the head alone. `fixed`: on the base alone. `broken`: on both."""


@dataclass(frozen=True)
class Rounds:
    """The medians of one benchmark in each round, base and head; None where it failed."""

    base: tuple[float | None, ...]
    head: tuple[float | None, ...]

    @property
    def log_ratios(self) -> list[float]:
        """The logarithm of head/base for every round in which both gave a positive number."""
        pairs = zip(self.base, self.head, strict=True)
        return [math.log(head / base) for base, head in pairs if base and head]

    def after(self, earlier: Rounds | None) -> Rounds:
        """Return these rounds behind earlier ones."""
        return self if earlier is None else Rounds(earlier.base + self.base, earlier.head + self.head)

    @property
    def failure(self) -> Change | None:
        """Which side failed in some round, None if neither."""
        base, head = None in self.base, None in self.head
        if base and head:
            return "broken"
        return "failed" if head else "fixed" if base else None


@dataclass(frozen=True)
class Verdict:
    """What the rounds of one benchmark say."""

    change: Change
    ratio: float
    """Head over base; NaN where there is none."""
    p: float
    """After Holm's correction; NaN where there is none."""
    rounds: int


def hodges_lehmann(values: Sequence[float]) -> float:
    """Return the median of the means of all pairs, each value also with itself; NaN for no values."""
    means = [(first + second) / 2 for first, second in itertools.combinations_with_replacement(values, 2)]
    return median(means) if means else math.nan


def ratio(rounds: Rounds) -> float:
    """Return the estimate of head/base."""
    return math.exp(hodges_lehmann(rounds.log_ratios))


def signed_rank(values: Sequence[float]) -> float:
    """Return the p-value of Wilcoxon's test that `values` lie symmetrically around zero."""
    if not any(values):
        return 1.0
    return float(stats.wilcoxon(values, zero_method="zsplit").pvalue)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return p-values such that rejecting those below α keeps the chance of any false one below α.

    In ascending order p̃_(i) = max_{j ≤ i} min(1, (m − j + 1) p_(j)).
    """
    adjusted, highest = {}, 0.0
    for done, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        highest = max(highest, min(1.0, (len(p_values) - done) * p))
        adjusted[name] = highest
    return adjusted


def judge(measured: Mapping[str, Rounds], given_up: Collection[str] = ()) -> dict[str, Verdict]:
    """Return the verdict on every benchmark; the correction is for all that ran on both sides.

    One that was given up on the way counts there as one without any evidence.
    """
    whole = {name: rounds for name, rounds in measured.items() if rounds.failure is None}
    p_values = holm(
        {name: 1.0 if name in given_up else signed_rank(rounds.log_ratios) for name, rounds in whole.items()}
    )
    verdicts = {}
    for name, rounds in measured.items():
        count = len(rounds.base)
        if rounds.failure is not None:
            verdicts[name] = Verdict(rounds.failure, math.nan, math.nan, count)
        else:
            estimate = ratio(rounds)
            verdicts[name] = Verdict(_change(estimate, p_values[name]), estimate, p_values[name], count)
    return verdicts


def suspicious(measured: Mapping[str, Rounds]) -> list[str]:
    """Return the benchmarks whose ratio is beyond the square root of the threshold, either way."""
    limit = math.log(THRESHOLD) / 2
    return [
        name
        for name, rounds in measured.items()
        if rounds.failure is None and abs(hodges_lehmann(rounds.log_ratios)) > limit
    ]


def rounds_needed(count: int) -> int:
    """Return the fewest rounds that can make one of `count` benchmarks significant: count · 2^(1−n) < LEVEL."""
    return math.floor(math.log2(count / LEVEL)) + 2


def is_regression(verdict: Verdict) -> bool:
    """Say whether the head is worse than the base."""
    return verdict.change in ("slower", "failed")


def _change(estimate: float, p: float) -> Change:
    if p < LEVEL and estimate >= THRESHOLD:
        return "slower"
    if p < LEVEL and estimate <= 1 / THRESHOLD:
        return "faster"
    return "same"
