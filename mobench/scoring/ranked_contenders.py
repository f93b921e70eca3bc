"""Who is ranked: the contenders who entered the same contests, and the contests they entered.

Ranks compare only contenders who met everywhere. Of all choices of suites, with the contenders who entered every one
of them, the one with the most entries is ranked, contenders times suites; of equals the one with more suites. A suite
with many instances has no more say than another. All others are named, with the reason.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from mobench.scoring.contests import Contest

EXHAUSTIVE = 12
"""Up to so many different sets of contenders all choices of suites are tried; beyond, those of up to three sets."""


@dataclass(frozen=True)
class RankedContenders:
    """Who is ranked on what."""

    contenders: tuple[str, ...]
    contests: tuple[Contest, ...]
    unranked: tuple[str, ...]
    left_out: tuple[Contest, ...]

    @property
    def remarks(self) -> tuple[str, ...]:
        """Say in words who and what is not ranked."""
        found = []
        if self.unranked:
            found.append(f"Not ranked, since not entered in every ranked suite: {', '.join(self.unranked)}.")
        if self.left_out:
            suites = sorted({contest.suite for contest in self.left_out})
            found.append(f"Not part of the ranking, since not all ranked contenders entered: {', '.join(suites)}.")
        return tuple(found)


def ranked_contenders(contests: Sequence[Contest]) -> RankedContenders:
    """Choose the suites and contenders to rank; empty where no two contenders met."""
    entered: dict[str, frozenset[str]] = {}
    for contest in contests:
        names = frozenset(map(str, contest.values))
        entered[contest.suite] = entered.get(contest.suite, names) & names
    patterns = sorted(set(entered.values()), key=sorted)
    sizes = range(1, (len(patterns) if len(patterns) <= EXHAUSTIVE else 3) + 1)
    met = {frozenset.intersection(*some) for size in sizes for some in itertools.combinations(patterns, size)}
    choices = []
    for names in met:
        suites = [suite for suite, present in entered.items() if names <= present]
        if len(names) > 1:
            choices.append((-len(names) * len(suites), -len(suites), sorted(names), suites))
    _, _, ranked, suites = min(choices, default=(0, 0, [], []))
    everybody = sorted({str(name) for contest in contests for name in contest.values})
    return RankedContenders(
        tuple(ranked),
        tuple(contest for contest in contests if contest.suite in suites),
        tuple(name for name in everybody if name not in ranked),
        tuple(contest for contest in contests if contest.suite not in suites),
    )
