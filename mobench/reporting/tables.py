"""The tables of a report, made of the results table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from mobench.reporting.sheet import INTERVALS, Cell, Sheet, cells, reading_notes, spelled_interval, spelled_number
from mobench.reporting.terminal import number
from mobench.scoring.contenders import spelled
from mobench.scoring.hypervolumes import FORMS
from mobench.scoring.published import Comparison
from mobench.scoring.scores import overall_scores


def methods_sheet(table: pd.DataFrame, order: Sequence[str]) -> Sheet:
    """Return effort, overall quality and cost of every contender."""
    scores = overall_scores(table.assign(method=table["contender"])).set_index("method").loc[list(order)]
    runs = table.groupby("contender")
    steps = runs["steps"].sum() if "steps" in table else float("nan")
    scores["backward_passes_per_step"] = runs["backward_passes"].sum() / steps
    scores["peak_megabytes"] = runs["peak_memory"].median() / 1e6
    effort = ("configurations", "runs", "failed")
    cost = ("ms/step", "method µs/step", "backward passes/step", "peak MB")
    header = ("method", *effort, "hypervolume", "secondary progress", *cost)
    rows = [
        cells(
            [
                str(row["method"]),
                *(str(row[column]) for column in effort),
                spelled_interval(row["hypervolume"], row["low"], row["high"], 3),
                number(float(row["secondary_progress"])),
                number(1e3 * row["seconds_per_step"]),
                number(1e6 * row["method_seconds_per_step"]),
                number(float(row["backward_passes_per_step"])),
                number(float(row["peak_megabytes"])),
            ]
        )
        for row in scores.reset_index().to_dict("records")
    ]
    notes = (
        "Hypervolume: mean over problem instances, in frozen bounds. "
        "Secondary progress: mean cosine of the update with the gradient of the worst served secondary.",
        *([INTERVALS] if scores["low"].notna().any() else []),
    )
    return Sheet("methods", "Methods over all problem instances", header, tuple(rows), scores.reset_index(), notes)


def hypervolume_sheets(frame: pd.DataFrame, order: Sequence[str]) -> list[Sheet]:
    """Return, per form of the hypervolume, problem instances down and contenders across."""
    sheets = []
    for form, part in frame.groupby("form", sort=False) if len(frame) else ():
        rows = []
        for label, lines in part.groupby("instance_label", sort=False):
            by_name = {line["contender"]: line for line in lines.to_dict("records")}
            found = [by_name.get(name) for name in order]
            rows.append((Cell(str(label)), *(_volume(line, 3 if form == "frozen" else 1) for line in found)))
        title = FORMS[str(form)]
        sheets.append(
            Sheet(
                f"hypervolume-{form}",
                title[0].upper() + title[1:],
                ("", *order),
                tuple(rows),
                part,
                reading_notes(part),
            )
        )
    return sheets


def pivot_sheets(pivots: Sequence[tuple[str, pd.DataFrame]]) -> list[Sheet]:
    """Return the suite's own tables, see `mobench.scoring.tables`."""
    sheets = []
    for position, (title, numbers) in enumerate(pivots, 1):
        column = str(numbers.columns.name).removeprefix("problem.")
        first = str(numbers.index.name).removeprefix("method.").removesuffix("_label")
        header = (first, *(f"{column}={spelled(value)}" for value in numbers.columns))
        rows = [
            cells([spelled(name), *(spelled_number(float(value)) for value in row)]) for name, row in numbers.iterrows()
        ]
        sheets.append(Sheet(f"table-{position}", title, header, tuple(rows), numbers.reset_index()))
    return sheets


def published_sheet(comparisons: Sequence[Comparison]) -> Sheet:
    """Return published quantities and ours, row by row."""
    header = ("quantity", "paper", "ours", "range", "runs", "remark")
    rows = []
    for row in comparisons:
        low, high = number(row.low), number(row.high)
        spread = "" if low == high else f"{low} … {high}"
        rows.append(cells([row.quantity, row.paper, number(row.ours, 5), spread, str(row.runs), row.note]))
    data = pd.DataFrame([vars(row) for row in comparisons])
    return Sheet("published", "Published and measured", header, tuple(rows), data)


def _volume(line: Mapping[Any, Any] | None, decimals: int) -> Cell:
    if line is None:
        return Cell("–")
    return Cell(spelled_interval(line["mean"], line["low"], line["high"], decimals), bool(line["best"]))
