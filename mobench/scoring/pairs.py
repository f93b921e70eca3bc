"""Two contenders against each other: paired by seed in every contest, and by contest over all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mobench.errors import UserError, unknown
from mobench.scoring.contests import Contest
from mobench.scoring.indicators.signed_rank import holm, signed_rank_p_value
from mobench.scoring.tables import Column, Estimate, Row, Table

COLUMNS = (
    "suite", "profile", "instance", "metric", "best", "a", "b", "difference", "low", "high", "n", "won", "lost", "tied",
    "p",
)  # fmt: skip
"""`difference` is the mean over seeds of how much better the first is; `p` is adjusted for the number of contests."""


@dataclass(frozen=True)
class Pair:
    """How two contenders compare."""

    first: str
    second: str
    frame: pd.DataFrame
    """A row per contest with `COLUMNS`."""
    differences: tuple[Estimate, ...]
    """How much better the first is in each of them."""
    p: float | None
    """Of the exact signed-rank test over contests of (share of seeds won − share lost); None where all are ties."""


def compare_pair(contests: Sequence[Contest], first: str, second: str) -> Pair:
    """Compare two contenders over the contests that both entered; a failed run loses against a finished one."""
    names = {str(name) for contest in contests for name in contest.values}
    for name in (first, second):
        if name not in names:
            raise unknown("contender in these results", name, names)
    if first == second:
        raise UserError(f"'{first}' is compared with itself; name two contenders")
    rows, p_values, shares, differences = [], [], [], []
    for contest in contests:
        if not {first, second} <= {*contest.values} or not (contest.tried[first] and contest.tried[second]):
            continue
        a, b = contest.values[first].to_numpy(), contest.values[second].to_numpy()
        signs = _signs(a, b, contest.best)
        both = ~(np.isnan(a) | np.isnan(b))
        gains = (a - b if contest.best == "max" else b - a)[both]
        seeds = contest.values.index[both]
        difference = Estimate(dict(zip(seeds.tolist(), gains.tolist(), strict=True)))
        differences.append(difference)
        spread = difference.interval
        p_values.append(signed_rank_p_value(gains if both.all() else signs) or 1.0)
        shares.append(float(signs.mean()))
        rows.append(
            {
                "suite": contest.suite,
                "profile": contest.profile,
                "instance": contest.label,
                "metric": contest.metric,
                "best": contest.best,
                "a": float(np.nanmean(a)) if not np.isnan(a).all() else math.nan,
                "b": float(np.nanmean(b)) if not np.isnan(b).all() else math.nan,
                "difference": spread.mean if spread else math.nan,
                "low": math.nan if spread is None or spread.low is None else spread.low,
                "high": math.nan if spread is None or spread.high is None else spread.high,
                "n": len(signs),
                "won": int((signs > 0).sum()),
                "lost": int((signs < 0).sum()),
                "tied": int((signs == 0).sum()),
            }
        )
    if not rows:
        raise UserError(f"'{first}' and '{second}' have no contest in common in these results")
    frame = pd.DataFrame(rows).assign(p=holm(p_values))
    return Pair(first, second, frame[list(COLUMNS)], tuple(differences), signed_rank_p_value(shares))


def pair_tables(pair: Pair) -> list[Table]:
    """Return the contests of a pair, a table for each suite, profile and metric."""
    tables = []
    for (suite, profile, metric), part in pair.frame.groupby(["suite", "profile", "metric"], sort=False):
        best = part["best"].iloc[0]
        columns = (
            Column("a", pair.first, str(metric), best),
            Column("b", pair.second, str(metric), best),
            Column("difference", f"{pair.first} better by", str(metric)),
            Column("counts", "won–lost–tied"),
            Column("p", "p"),
        )
        rows = [
            Row(
                row["instance"],
                (
                    row["a"], row["b"], pair.differences[at],
                    f"{row['won']}–{row['lost']}–{row['tied']}", row["p"],
                ),
            )
            for at, row in zip(part.index, part.to_dict("records"), strict=True)
        ]  # fmt: skip
        tables.append(
            Table("pair", f"{suite}, profile {profile}: {metric}", columns, tuple(rows), ranked_by=(), first="contest")
        )
    return tables


def _signs(a: np.ndarray, b: np.ndarray, best: str) -> np.ndarray:
    """Return 1 where the first is better, −1 where the second is; who failed loses, and two failures are a tie."""
    worst = -np.inf if best == "max" else np.inf
    x, y = np.where(np.isnan(a), worst, a), np.where(np.isnan(b), worst, b)
    signs: np.ndarray = np.where(x == y, 0.0, np.where((x > y) == (best == "max"), 1.0, -1.0))
    return signs
