"""Numbers that runs sample along their steps, collected while the runs are read, each of them once for all plots."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mobench.core.plot import PlotResults

Array = NDArray[np.float64]


class Samples:
    """One number at the sampled steps of many runs, by problem instance and contender."""

    def __init__(
        self,
        column: str,
        number: Callable[[Any], float | None],
        table: pd.DataFrame,
        diverged: Collection[str] = frozenset(),
    ) -> None:
        """Take which column of a run holds the number, the runs, and the ids of those that diverged."""
        self._column, self._number, self._diverged = column, number, diverged
        keys: dict[tuple[str, str], tuple[str, str]] = {}
        self._places: dict[str, tuple[str, str]] = {}
        for id_, label, contender in zip(table["id"], table["instance_label"], table["contender"], strict=True):
            self._places[str(id_)] = keys.setdefault((label, contender), (label, contender))
        self._found: dict[tuple[str, str], dict[tuple[int, ...], array[float]]] = {}
        self._kept: dict[tuple[str, str], dict[tuple[int, ...], list[bool]]] = {}
        """Which runs of each grid of steps did not diverge."""

    @property
    def ids(self) -> Collection[str]:
        """The runs that are wanted."""
        return self._places.keys()

    def add(self, id_: str, history: Mapping[str, list[Any]]) -> None:
        """Take what a run keeps of its steps."""
        place, values = self._places.get(id_), history.get(self._column)
        if place is None or values is None:
            return
        number = self._number
        found = [None if value is None else number(value) for value in values]
        grids = self._found.setdefault(place, {})
        steps = tuple(history["step"])
        grids.setdefault(steps, array("d")).extend([math.nan if x is None else x for x in found])
        self._kept.setdefault(place, {}).setdefault(steps, []).append(id_ not in self._diverged)

    def frame(self) -> pd.DataFrame:
        """Return `instance_label`, `contender`, `step`, the median over runs as `mean`, their range, and their number.

        `high_undiverged` is the highest number of runs that did not diverge, NaN where there is none. A step at which
        no run has a number is left out.
        """
        rows: list[dict[str, Any]] = []
        for (label, contender), grids in self._found.items():
            steps, numbers = _whole(grids)
            kept = np.concatenate([np.array(flags) for flags in self._kept[label, contender].values()])
            highest = np.where(np.isnan(numbers) | ~kept[:, None], -math.inf, numbers).max(axis=0)
            spreads = zip(steps, *(each.tolist() for each in (*_spreads(numbers), highest)), strict=True)
            rows += [
                {
                    "instance_label": label,
                    "contender": contender,
                    "step": step,
                    "mean": middle,
                    "low": low,
                    "high": high,
                    "runs": runs,
                    "high_undiverged": ceiling if math.isfinite(ceiling) else math.nan,
                }
                for step, low, middle, high, runs, ceiling in spreads
                if runs
            ]
        return pd.DataFrame(rows)


def read_together(results: PlotResults, several: Collection[Samples]) -> None:
    """Read every run that is wanted once, and hand it to all."""
    wanted = set().union(*(samples.ids for samples in several))
    for id_, history in results.histories(wanted) if wanted else ():
        for samples in several:
            samples.add(id_, history)


def _whole(grids: Mapping[tuple[int, ...], array[float]]) -> tuple[list[int], Array]:
    """Return all steps, and a row of numbers for each run, NaN where it has none; most runs have the same steps."""
    steps = list(dict.fromkeys(step for grid in grids for step in grid))
    columns = {step: column for column, step in enumerate(steps)}
    parts = []
    for grid, numbers in grids.items():
        part = np.full((len(numbers) // max(len(grid), 1), len(steps)), math.nan)
        part[:, [columns[step] for step in grid]] = np.reshape(numbers, (-1, len(grid)))
        parts.append(part)
    return steps, np.concatenate(parts)


def _spreads(numbers: Array) -> tuple[Array, Array, Array, NDArray[np.int64]]:
    """Return lowest number, median, highest number and count of every column without NaN, as `numpy.quantile` does."""
    ordered = np.sort(numbers, axis=0)  # NaN last
    counts = (~np.isnan(numbers)).sum(axis=0)
    columns, last = np.arange(numbers.shape[1]), np.maximum(counts - 1, 0)
    below, above = ordered[last // 2, columns], ordered[(last + 1) // 2, columns]
    return ordered[0], above - (above - below) * 0.5, ordered[last, columns], counts
