"""The `selected` rows of a suite: one number per method, of the configuration that was selected for it.

A suite's `selected` list has rows of the form

    - {label: "90 % removed", value: accuracy@90, select: selection_accuracy@90, decimals: 1}
    - {label: effective rank, value: effective_rank, select: selection_accuracy, best: min, select_best: max,
       select_test: accuracy, fixed: {pcd: {tau: 0.02}}}

`value` is reported, `select` chooses (measured on validation data); `best` says which way the value is
better and `select_best` the same of the metric that chooses (by default like `best`). With `selection=test`
the metric `select_test` chooses, by default the value itself. Numbers are divided by `unit` to be shown.
Methods in `fixed` are not selected but shown at the given settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from mobench.core.settings import Integer, Real
from mobench.errors import UserError, unknown
from mobench.planning.suite import Suite
from mobench.scoring.published_values import PublishedValue, find_published
from mobench.scoring.selection import SELECTIONS, Criterion, selected_configurations

KEYS = ("label", "value", "select", "best", "select_best", "select_test", "unit", "decimals", "fixed")
UNIT = Real(1.0, "what a value is divided by to be shown", 0.0, low_open=True)
DECIMALS = Integer(1, "digits after the point", 0, 12)


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
    return [_row(suite.name, entry, selection) for entry in suite.selected]


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
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _published(
    known: list[PublishedValue], criterion: Criterion, groups: Mapping[Any, pd.DataFrame], key: tuple[str, str]
) -> PublishedValue | None:
    if not known:
        return None
    return find_published(known, criterion.value, criterion.candidates(groups[key]))


def _row(suite: str, entry: Mapping[str, Any], selection: str) -> SelectedRow:
    if not isinstance(entry, Mapping):
        raise UserError(
            f"suite {suite}: a row of selected must be a mapping with keys {', '.join(KEYS)}, not {entry!r}"
        )
    for key in entry:
        if key not in KEYS:
            raise unknown(f"key in selected of suite {suite}:", key, KEYS)
    if missing := {"label", "value", "select"} - entry.keys():
        raise UserError(f"suite {suite}: a row of selected lacks {', '.join(sorted(missing))}: {dict(entry)}")
    best = entry.get("best", "max")
    select_best = entry.get("select_best", best)
    for key, value in (("best", best), ("select_best", select_best)):
        if value not in ("max", "min"):
            raise unknown(f"value for {key} in selected of suite {suite}:", str(value), ("max", "min"))
    chooser = entry["select"] if selection == "validation" else entry.get("select_test", entry["value"])
    criterion = Criterion(entry["value"], chooser, best, select_best, entry.get("fixed", {}))
    unit = UNIT.parse(f"unit in selected of suite {suite}:", entry.get("unit", UNIT.default))
    decimals = entry.get("decimals")
    if decimals is not None:
        decimals = DECIMALS.parse(f"decimals in selected of suite {suite}:", decimals)
    return SelectedRow(str(entry["label"]), criterion, unit, decimals)
