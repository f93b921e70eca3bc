"""Notes under a suite's table: which of its methods cannot differ by direction, from the atlas that ships."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from mobench.core.problem import Problem
from mobench.core.registry import methods
from mobench.reporting.atlas_page import spelled_class
from mobench.scoring.atlas import label_of, same_direction
from mobench.scoring.contenders import spelled


def relation_notes(table: pd.DataFrame, problems: Mapping[str, Problem]) -> list[str]:
    """Return a sentence for each number of objectives at which methods of a suite's runs have one direction.

    `problems` are those of the instances in the table.
    """
    known, notes = methods(), []
    counts = {name: len(problem.objectives()) for name, problem in problems.items()}
    for k in sorted(set(counts.values())) if len(table) else ():
        shown: dict[str, str] = {}
        configurations = table[table["instance"].map(counts) == k].drop_duplicates("configuration")
        for name, rows in configurations.groupby("method", sort=False):
            method = known.get(str(name))
            if method is None:
                continue
            tried = [_settings(row, method.settings) for row in rows.to_dict("records")]
            swept = [name for name in method.settings if any(one.get(name) != tried[0].get(name) for one in tried)]
            for values in tried:
                texts = [f"{name}={spelled(values[name])}" for name in swept if name in values]
                label = label_of(method, values)
                shown[label] = f"{method.name}({', '.join(texts)})" if texts else label
        named = [[[shown[label] for label in same] for same in updates] for updates in same_direction(shown, k)]
        if named:
            listed = "; ".join(map(spelled_class, named))
            signs = "one direction (∥), or are one update (=) and differ by rounding alone"
            notes.append(f"On any {k} gradients these have {signs}: {listed}.")
    return notes


def _settings(row: Mapping[Any, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the settings of a row of runs; implicit ones that were left out are NaN, which is not equal to itself."""
    columns = {name: f"method.{name}" for name in names if f"method.{name}" in row}
    return {name: row[column] for name, column in columns.items() if row[column] == row[column]}
