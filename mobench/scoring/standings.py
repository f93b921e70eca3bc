"""Standings: contenders ranked over contests, with intervals and tests.

At every seed of every contest the contenders are ranked by value. A rank in a contest is
the mean over its seeds, a rank in a suite the mean over its contests, the mean rank the mean over suites: every
suite counts the same, however many instances it has.

The tests need independent blocks. Instances of one suite are variations of one problem, so over several suites
the blocks are the suites; within a single suite they are its contests, and a finding is about that suite.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from mobench.scoring.contests import Contest
from mobench.scoring.indicators.ranks import critical_difference, friedman_p_value, ranks_of

Array = npt.NDArray[np.float64]
COLUMNS = (
    "contender", "ranked", "mean_rank", "low", "high", "contests", "failed_contests",
)  # fmt: skip
RESAMPLES = 4_000
"""How many bootstrap samples an interval of a mean rank is made of."""


@dataclass(frozen=True)
class Standings:
    """Ranks with confidence intervals and significance tests."""

    frame: pd.DataFrame
    """A row per contender with `COLUMNS`, best first, unranked last. Counts are over all contests that it entered."""
    friedman_p: float | None
    critical_difference: float | None
    """Nemenyi's, at 5 %; None where the blocks are too few to tell anybody apart."""
    blocks: int
    unit: Literal["suite", "contest"]
    """What a block of the tests is."""
    ranked: RankedContenders
    """The contests and contenders that are ranked, and those that are not."""


def standings(contests: Sequence[Contest]) -> Standings:
    """Rank contenders over contests; the order of contests, contenders and seeds does not matter."""
    listed = sorted(contests, key=lambda contest: contest.key)
    ranked = ranked_contenders(listed)
    names = list(ranked.contenders)
    suites = sorted({contest.suite for contest in ranked.contests})
    ranks = [ranks_of(contest.values[names].to_numpy(), contest.best) for contest in ranked.contests]
    unit: Literal["suite", "contest"] = "suite" if len(suites) > 1 else "contest"
    blocks = [contest.suite if unit == "suite" else contest.key for contest in ranked.contests]
    scores = _block_means(blocks, [rank.mean(axis=0) for rank in ranks], len(names))
    friedman = friedman_p_value(scores)
    difference = critical_difference(len(names), len(scores))
    means = scores.mean(axis=0) if len(scores) else np.empty(0)
    low, high = _intervals(ranked.contests, ranks, means)
    places = {name: (means[i], low[i], high[i]) for i, name in enumerate(names)}
    return Standings(
        _frame(listed, places),
        friedman,
        difference,
        len(scores),
        unit,
        ranked,
    )


def _frame(listed: Sequence[Contest], places: dict[str, tuple[float, float, float]]) -> pd.DataFrame:
    counts: dict[str, dict[str, int]] = {}
    for contest in listed:
        for name in contest.values:
            row = counts.setdefault(str(name), dict.fromkeys(("contests", "failed"), 0))
            row["contests"] += 1
            row["failed"] += int(contest.values[name].isna().any())
    rows: list[dict[str, Any]] = []
    for name, row in counts.items():
        mean, low, high = places.get(name, (math.nan,) * 3)
        rows.append(
            {
                "contender": name,
                "ranked": name in places,
                "mean_rank": mean,
                "low": low,
                "high": high,
                "contests": row["contests"],
                "failed_contests": row["failed"],
            }
        )
    rows.sort(key=lambda row: (not row["ranked"], row["mean_rank"] if row["ranked"] else 0.0, row["contender"]))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _block_means(blocks: Sequence[Any], rows: Sequence[Array], width: int) -> Array:
    """Return the mean of the rows of each block, blocks in order."""
    found = [np.mean([row for key, row in zip(blocks, rows, strict=True) if key == block], axis=0) for block in
             dict.fromkeys(blocks)]  # fmt: skip
    return np.array(found).reshape(len(found), width)


def _intervals(listed: Sequence[Contest], ranks: Sequence[Array], means: Array) -> tuple[Array, Array]:
    """Return the 95 % percentile bootstrap of the mean ranks.

    Within every suite contests are drawn anew, and seeds, the same ones for all its contests: at equal seeds they share
    their noise. Suites stay, because they were chosen and not drawn. NaN where there is nothing to draw.
    """
    generator = np.random.default_rng(0)
    total = np.zeros((RESAMPLES, len(means)))
    suites = sorted({contest.suite for contest in listed})
    varied = False
    for suite in suites:
        members = [index for index, contest in enumerate(listed) if contest.suite == suite]
        seeds = sorted({seed for index in members for seed in listed[index].values.index})
        varied |= len(members) > 1 or len(seeds) > 1
        times = generator.multinomial(len(members), np.full(len(members), 1 / len(members)), size=RESAMPLES)
        drawn = generator.multinomial(len(seeds), np.full(len(seeds), 1 / len(seeds)), size=RESAMPLES)
        for place, index in enumerate(members):
            weights = drawn[:, [seeds.index(seed) for seed in listed[index].values.index]].astype(float)
            weights[weights.sum(axis=1) == 0.0] = 1.0
            score = (weights @ ranks[index]) / weights.sum(axis=1, keepdims=True)
            total += times[:, [place]] * score / (len(members) * len(suites))
    if not varied:
        return np.full(len(means), np.nan), np.full(len(means), np.nan)
    low, high = np.quantile(total, [0.025, 0.975], axis=0)
    return np.minimum(low, means), np.maximum(high, means)


EXHAUSTIVE = 12
"""Up to so many different sets of contenders all choices of suites are tried; beyond, those of up to three sets."""


@dataclass(frozen=True)
class RankedContenders:
    """Who is ranked on what."""

    contenders: tuple[str, ...]
    contests: tuple[Contest, ...]
    unranked: tuple[str, ...]
    left_out: tuple[Contest, ...]


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
