"""What is remembered of a run's way: curves sampled on a logarithmic grid, and running means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

SAMPLES = 64
"""About how many points of a run's curves are kept."""

_PLAIN = frozenset({list, int, float})
_SCALARS = frozenset({bool, int, float, np.bool_, np.int64, np.float64})


def sampled_steps(total: int, path: bool = False) -> frozenset[int]:
    """Return the steps whose state is kept: the first, the last, and a log-spaced grid between.

    Of a `path` that is drawn, as many evenly spaced steps are kept too, so that no bend of it is cut off.
    """
    if total <= SAMPLES:
        return frozenset(range(total))
    grid = np.unique(np.geomspace(1, total, SAMPLES).round().astype(int)) - 1
    if path:
        grid = np.union1d(grid, np.linspace(0, total - 1, SAMPLES).round().astype(int))
    return frozenset(int(step) for step in grid)


class Means:
    """Running means and totals of named scalars, one value per step."""

    def __init__(self) -> None:
        self.sums: dict[str, list[float]] = {}
        """For each name the total and the number of values."""

    def add(self, values: Mapping[str, Any]) -> None:
        """Add the scalars among `values`; arrays and texts are left to the sampled curves."""
        for name, value in values.items():
            if type(value) in _SCALARS:
                entry = self.sums.setdefault(name, [0.0, 0.0])
                entry[0] += value
                entry[1] += 1.0

    def summary(self) -> dict[str, dict[str, float]]:
        """Return mean and total of every scalar seen."""
        return {name: {"mean": total / count, "total": total} for name, (total, count) in self.sums.items()}


class History:
    """The sampled curves of one run, as columns of equal length."""

    def __init__(self) -> None:
        self.columns: dict[str, list[Any]] = {}
        self.length = 0

    def add(self, row: Mapping[str, Any]) -> None:
        """Add one sampled step; a column that is missing in a row gets None there."""
        columns = self.columns
        for name, value in row.items():
            if (column := columns.get(name)) is None:
                column = columns[name] = [None] * self.length
            column.append(value if type(value) in _PLAIN else _plain(value))
        self.length += 1
        if len(row) < len(columns):
            for column in columns.values():
                if len(column) < self.length:
                    column.append(None)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
