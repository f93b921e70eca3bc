"""Two contenders against each other: paired by seed in every contest, and by contest over all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mobench.errors import UserError, unknown
from mobench.scoring.contests import Contest
from mobench.scoring.indicators.intervals import interval
from mobench.scoring.indicators.ranks import LEVEL
from mobench.scoring.indicators.signed_rank import holm, signed_rank_p_value, smallest_p_value

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
    p: float | None
    """Of the exact signed-rank test over contests of (share of seeds won − share lost); None where all are ties."""

    @property
    def verdict(self) -> str:
        """What the data tells, in a sentence or two."""
        first, second, count = self.first, self.second, len(self.frame)
        ahead = int((self.frame["won"] > self.frame["lost"]).sum())
        behind = int((self.frame["won"] < self.frame["lost"]).sum())
        counted = f"{first} is ahead in {ahead} and {second} in {behind} of {_counted(count)}"
        if self.p is None:
            return f"{counted}: they are equal everywhere."
        told = f"exact signed-rank test over contests, p = {self.p:.3g}"
        if self.p < LEVEL:
            return f"{counted} ({told}): {first if ahead > behind else second} is better."
        least = smallest_p_value(ahead + behind)
        few = f" With {_counted(ahead + behind)}, p is never below {least:.2g}." if least >= LEVEL else ""
        return f"{counted} ({told}): this does not tell them apart.{few}"


def compare_pair(contests: Sequence[Contest], first: str, second: str) -> Pair:
    """Compare two contenders over the contests that both entered; a failed run loses against a finished one."""
    names = {str(name) for contest in contests for name in contest.values}
    for name in (first, second):
        if name not in names:
            raise unknown("contender in these results", name, names)
    if first == second:
        raise UserError(f"'{first}' is compared with itself; name two contenders")
    rows, p_values, shares = [], [], []
    for contest in contests:
        if not {first, second} <= {*contest.values} or not (contest.tried[first] and contest.tried[second]):
            continue
        a, b = contest.values[first].to_numpy(), contest.values[second].to_numpy()
        signs = _signs(a, b, contest.best)
        both = ~(np.isnan(a) | np.isnan(b))
        gains = (a - b if contest.best == "max" else b - a)[both]
        spread = interval(gains.tolist()) if gains.size else None
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
    return Pair(first, second, frame[list(COLUMNS)], signed_rank_p_value(shares))


def _counted(contests: int) -> str:
    return f"{contests} contest{'' if contests == 1 else 's'}"


def _signs(a: np.ndarray, b: np.ndarray, best: str) -> np.ndarray:
    """Return 1 where the first is better, −1 where the second is; who failed loses, and two failures are a tie."""
    worst = -np.inf if best == "max" else np.inf
    x, y = np.where(np.isnan(a), worst, a), np.where(np.isnan(b), worst, b)
    signs: np.ndarray = np.where(x == y, 0.0, np.where((x > y) == (best == "max"), 1.0, -1.0))
    return signs
