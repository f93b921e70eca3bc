"""The rows of selected configurations that a suite's tables show, with published numbers beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from mobench.errors import unknown
from mobench.planning.suite import Suite
from mobench.planning.suite_parts import SelectedEntry
from mobench.scoring.published import PublishedValue, find_published
from mobench.scoring.select import Criterion, Sweeps

SELECTIONS = ("validation", "test")
"""What configurations are selected on; `test` is the paper's way."""


@dataclass(frozen=True)
class SelectedRow:
    """One row of the table of selected configurations."""

    label: str
    criterion: Criterion
    unit: float
    decimals: int | None
    table: str = ""
    """The title of its table, empty for the suite's main one."""

    @property
    def key(self) -> str:
        """What tells it from the rows of all tables."""
        return f"{self.table}: {self.label}" if self.table else self.label


def selected_rows(suite: Suite, selection: str = "validation") -> list[SelectedRow]:
    """Return the rows that the suite asks for, selecting on validation or on test data."""
    if selection not in SELECTIONS:
        raise unknown("value for selection:", selection, SELECTIONS)
    return [_row(entry, selection) for entry in suite.selected]


def selected_frame(
    rows: Iterable[SelectedRow],
    table: pd.DataFrame,
    published: Iterable[PublishedValue] = (),
    sweeps: Sweeps | None = None,
) -> pd.DataFrame:
    """Return every number of the rows: one line per problem instance, row and contender.

    To the columns of `selected_configurations` it adds `instance_label`, `row` (its key), `value` and
    `select` (the metrics), `published` (NaN where there is no number), `source` and `note`.
    The table has the columns that `mobench.scoring.contender` adds; `sweeps` are its own, where they are known.
    """
    if not len(table):
        return pd.DataFrame(columns=["instance_label"])
    known, sweeps = list(published), sweeps or Sweeps(table, "contender")
    labels = dict(zip(table["instance"], table["instance_label"], strict=True))
    groups = dict(list(table.groupby(["instance", "contender"]))) if known else {}
    parts = []
    for row in rows:
        if (table["status"] == "done").any() and not row.criterion.metrics <= set(table.columns):
            continue  # other problems than the suite's own were run
        if row.criterion.against and row.criterion.against not in set(table["contender"]):
            continue  # the contender to compare with was left out
        frame = sweeps.selected(row.criterion)
        if not len(frame):
            continue
        found = [
            _published(known, row.criterion, groups, key)
            for key in zip(frame["instance"], frame["contender"], strict=True)
        ]
        frame.insert(0, "instance_label", frame["instance"].map(labels))
        frame.insert(1, "row", row.key)
        frame.insert(2, "value", row.criterion.value)
        frame.insert(3, "select", row.criterion.select)
        frame["published"] = [None if value is None else value.value for value in found]
        frame["source"] = ["" if value is None else value.source for value in found]
        frame["note"] = ["" if value is None else value.note for value in found]
        parts.append(frame.astype({"published": float}))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["instance_label"])


def _published(
    known: list[PublishedValue], criterion: Criterion, groups: Mapping[Any, pd.DataFrame], key: tuple[str, str]
) -> PublishedValue | None:
    if not known or criterion.against:
        return None
    return find_published(known, criterion.value, criterion.candidates(groups[key]))


def _row(entry: SelectedEntry, selection: str) -> SelectedRow:
    chooser = entry.select if selection == "validation" else entry.select_test or entry.value
    against = entry.against_value or entry.value if entry.against else ""
    best = entry.select_best or entry.best
    criterion = Criterion(entry.value, chooser, entry.best, best, entry.fixed, entry.against, against)
    return SelectedRow(entry.label, criterion, entry.unit, entry.decimals, entry.table)
