"""Performance profiles over contests: the share in which a contender is within a factor of the best."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mobench.scoring.contests import Contest
from mobench.scoring.indicators.performance import performance_profile, performance_ratios
from mobench.scoring.standings import ranked_contenders

COLUMNS = ["contender", "ratio", "mean", "blocks", "contests", "suites"]


def performance_frame(contests: Sequence[Contest]) -> pd.DataFrame:
    """Return the steps of every contender's profile, over the contests that all ranked contenders entered.

    `mean` is the share of blocks (contest and seed) whose ratio to the best is at most `ratio`. Each suite has the same
    weight, in it each contest, in it each seed. A failure has no finite ratio, so a profile that stays below 1 tells
    how much failed.
    """
    ranked = ranked_contenders(sorted(contests, key=lambda contest: contest.key))
    names = list(ranked.contenders)
    ratios, weights = [], []
    sizes = pd.Series([contest.suite for contest in ranked.contests], dtype=object).value_counts()
    for contest in ranked.contests:
        found = performance_ratios(contest.values[names].to_numpy(), contest.best)
        ratios.append(found)
        weights += [1.0 / (len(found) * sizes[contest.suite])] * len(found)
    if not ratios:
        return pd.DataFrame(columns=COLUMNS)
    table, share = np.vstack(ratios), np.array(weights)
    usable = ~np.isnan(table).any(axis=1)
    if not usable.any():
        return pd.DataFrame(columns=COLUMNS)
    counts = {"blocks": int(usable.sum()), "contests": len(ranked.contests), "suites": len(sizes)}
    rows = []
    for name, (steps, height) in zip(names, performance_profile(table[usable], share[usable]), strict=True):
        rows += [{"contender": name, "ratio": x, "mean": y, **counts} for x, y in zip(steps, height, strict=True)]
    return pd.DataFrame(rows, columns=COLUMNS)
