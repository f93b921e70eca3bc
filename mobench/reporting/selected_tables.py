"""The tables of selected configurations: contenders across, the suite's `selected` rows down."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from mobench.reporting.sheet import Cell, Sheet, cells, reading_notes, slug, spelled_interval, spelled_number
from mobench.scoring.selected import SelectedRow

Line = Mapping[Any, Any]
"""One line of `mobench.scoring.selected.selected_frame`."""


def selected_sheets(
    frame: pd.DataFrame, rows: Sequence[SelectedRow], order: Sequence[str], selection: str
) -> list[Sheet]:
    """Return, per problem instance, the selected numbers and the configurations they belong to."""
    sheets = []
    for _, part in frame.groupby("instance", sort=False) if len(frame) else ():
        label = part["instance_label"].iloc[0]
        lines = {(line["row"], line["contender"]): line for line in part.to_dict("records")}
        present = [row for row in rows if (part["row"] == row.label).any()]
        names = [name for name in order if (part["contender"] == name).any()]
        numbers: list[tuple[Cell, ...]] = []
        for row in present:
            found = [lines[row.label, name] for name in names]
            numbers.append((Cell(row.label), *(_value(line, row) for line in found)))
            if any(not math.isnan(line["published"]) for line in found):
                texts = [spelled_number(line["published"] / row.unit, row.decimals) for line in found]
                numbers.append(cells([f"{row.label}, published", *texts]))
        counts = part.groupby("contender")[["tried", "failed"]].max().loc[names]
        numbers.append(cells(["configurations tried", *map(str, counts["tried"])]))
        numbers.append(cells(["failed runs", *map(str, counts["failed"])]))
        chosen = [cells([row.label, *(lines[row.label, name]["chosen"] or "–" for name in names)]) for row in present]
        remarks = [str(remark) for remark in (*part["source"].unique(), *part["note"].unique()) if remark]
        policy = f"Configurations are selected on {selection} data; values are measured on test data."
        notes = (policy, *reading_notes(part), *(f"Published: {remark}" for remark in remarks))
        stem, header = slug(label), ("", *names)
        sheets.append(
            Sheet(f"selected-{stem}", f"Selected configurations, {label}", header, tuple(numbers), part, notes)
        )
        sheets.append(Sheet(f"chosen-{stem}", f"Settings of the selected, {label}", header, tuple(chosen), None))
    return sheets


def _value(line: Line, row: SelectedRow) -> Cell:
    if not line["n"]:
        return Cell("failed" if line["runs"] else "–")
    mean, low, high = (line[column] / row.unit for column in ("mean", "low", "high"))
    text = spelled_interval(mean, low, high, row.decimals)
    if line["missing"]:
        text += f" ({line['n']} of {line['n'] + line['missing']} seeds)"
    return Cell(text, bool(line["best"]))
