"""The `selected` rows of a suite: one number per method, of the configuration that was selected for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from mobench.errors import unknown
from mobench.planning.suite import Suite
from mobench.planning.suite_parts import SelectedEntry
from mobench.scoring.published_values import PublishedValue, find_published
from mobench.scoring.selection import SELECTIONS, Criterion, selected_configurations


@dataclass(frozen=True)
class SelectedRow:
    """One row of the table of selected configurations."""

    label: str
    criterion: Criterion
    unit: float
    decimals: int | None


def selected_rows(suite: Suite, selection: str = "validation") -> list[SelectedRow]:
    """Return the rows that the suite asks for, selecting on validation or on test data."""
    if selection not in SELECTIONS:
        raise unknown("value for selection:", selection, SELECTIONS)
    return [_row(entry, selection) for entry in suite.selected]


def selected_frame(
    rows: Iterable[SelectedRow], table: pd.DataFrame, published: Iterable[PublishedValue] = ()
) -> pd.DataFrame:
    """Return every number of the rows: one line per problem instance, row and contender.

    To the columns of `selected_configurations` it adds `instance_label`, `row` (the label), `value` and
    `select` (the metrics), `published` (NaN where there is no number), `source` and `note`.
    The table has the columns that `mobench.scoring.contenders` adds.
    """
    known = list(published)
    labels = dict(zip(table["instance"], table["instance_label"], strict=True))
    groups = dict(list(table.groupby(["instance", "contender"]))) if known else {}
    parts = []
    for row in rows:
        if (table["status"] == "done").any() and not {row.criterion.value, row.criterion.select} <= set(table.columns):
            continue  # other problems than the suite's own were run
        frame = selected_configurations(table, row.criterion, by="contender")
        if not len(frame):
            continue
        found = [
            _published(known, row.criterion, groups, key)
            for key in zip(frame["instance"], frame["contender"], strict=True)
        ]
        frame.insert(0, "instance_label", frame["instance"].map(labels))
        frame.insert(1, "row", row.label)
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
    if not known:
        return None
    return find_published(known, criterion.value, criterion.candidates(groups[key]))


def _row(entry: SelectedEntry, selection: str) -> SelectedRow:
    chooser = entry.select if selection == "validation" else entry.select_test or entry.value
    criterion = Criterion(entry.value, chooser, entry.best, entry.select_best or entry.best, entry.fixed)
    return SelectedRow(entry.label, criterion, entry.unit, entry.decimals)
