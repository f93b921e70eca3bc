"""The tables of a suite, contenders down; terminal, Markdown, LaTeX and the site show the same ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from mobench.core.metric import Metric
from mobench.reporting.sheet import (
    INTERVALS,
    Cell,
    Sheet,
    cells,
    number,
    number_cell,
    reading_notes,
    slug,
    spelled_number,
)
from mobench.scoring.claims import SIGNS, ClaimResult
from mobench.scoring.contenders import spelled
from mobench.scoring.hypervolumes import FORMS
from mobench.scoring.published import Comparison
from mobench.scoring.selection import SelectedRow
from mobench.scoring.selection_words import selection_words
from mobench.scoring.suite_results import SuiteResults

ARROWS = {"max": " ↑", "min": " ↓", None: ""}
"""Which way a column is better."""
REFERENCES = (
    "Below the methods: other algorithms at the largest stored number of evaluations that the largest sweep affords. "
    "A step counts as one evaluation, and its gradients are not counted."
)
Line = Mapping[Any, Any]


def suite_sheets(results: SuiteResults) -> list[Sheet]:
    """Return all tables of a suite, the most important first."""
    return [
        methods_sheet(results),
        *selected_sheets(results),
        *hypervolume_sheets(results),
        *pivot_sheets(results),
        *([published_sheet(results.published)] if results.published else []),
        *([claims_sheet(results.claims)] if results.claims else []),
    ]


def heading(metric: Metric) -> str:
    """Return a metric as the head of a column: its label, unit and the way it is better."""
    return metric.heading + ARROWS[metric.better]


def methods_sheet(results: SuiteResults) -> Sheet:
    """Return effort, overall quality and cost of every contender."""
    scores = results.scores
    header = (
        "method", "conf", "runs", "fail", "HV ↑", "ms/step", "own µs", "shared µs", "progress ↑", "passes/step",
        "peak MB",
    )  # fmt: skip
    rows = [
        (
            *cells([row["contender"], *(str(row[name]) for name in ("configurations", "runs", "failed"))]),
            number_cell(row["hypervolume"], row["low"], row["high"], 3),
            *cells(
                [
                    number(1e3 * row["seconds_per_step"], 3),
                    number(1e6 * row["method_seconds_per_step"], 3),
                    number(1e6 * row["shared_seconds_per_step"], 3),
                    number(row["secondary_progress"], 3),
                    number(row["backward_passes"], 3),
                    number(row["peak_memory"] / 1e6, 3),
                ]
            ),
        )
        for row in scores.to_dict("records")
    ]
    notes = (
        "Conf: configurations tried. HV: hypervolume in frozen bounds, mean over problem instances. "
        "Of a step's time the own part is spent inside the method; the shared part is an equal share of what the runs "
        "that trained together did for all of them: losses, gradients, the update. "
        "Progress: mean cosine of the update with the gradient of the worst served secondary.",
        *([INTERVALS] if scores["low"].notna().any() else []),
    )
    return Sheet("methods", "Methods over all problem instances", header, tuple(rows), scores, notes)


def selected_sheets(results: SuiteResults) -> list[Sheet]:
    """Return, per problem instance, the numbers of the selected configurations and their settings."""
    frame, rows, sheets = results.selected, results.selected_rows, []
    for _, part in frame.groupby("instance", sort=False) if len(frame) else ():
        label = part["instance_label"].iloc[0]
        lines = {(line["row"], line["contender"]): line for line in part.to_dict("records")}
        present = [row for row in rows if (part["row"] == row.label).any()]
        published = [row for row in present if part.loc[part["row"] == row.label, "published"].notna().any()]
        names = [name for name in results.order if (part["contender"] == name).any()]
        counts = part.groupby("contender")[["tried", "failed"]].max()
        header = (
            "method",
            *(row.label + ARROWS[row.criterion.best] for row in present),
            *(f"{row.label}, published" for row in published),
            "tried",
            "failed",
        )
        numbers = [
            (
                Cell(name),
                *(_value(lines[row.label, name], row) for row in present),
                *(Cell(_published(lines[row.label, name], row)) for row in published),
                *cells([str(counts.loc[name, column]) for column in ("tried", "failed")]),
            )
            for name in names
        ]
        chosen = [cells([name, *(lines[row.label, name]["chosen"] or "–" for row in present)]) for name in names]
        remarks = [str(remark) for remark in (*part["source"].unique(), *part["note"].unique()) if remark]
        notes = (
            *selection_words([row.criterion for row in present], part, results.problems),
            "Tried: configurations of the sweep.",
            *reading_notes(part),
            *(f"Published: {remark}" for remark in remarks),
        )
        stem = slug(label)
        sheets += [
            Sheet(f"selected-{stem}", f"Selected configurations, {label}", header, tuple(numbers), part, notes),
            Sheet(
                f"chosen-{stem}",
                f"Settings of the selected, {label}",
                ("method", *(row.label for row in present)),
                tuple(chosen),
                None,
            ),
        ]
    return sheets


def selection_policy(results: SuiteResults) -> list[str]:
    """Say on which data configurations are selected, and on which they are measured."""
    return selection_words([row.criterion for row in results.selected_rows], results.selected, results.problems)


def hypervolume_sheets(results: SuiteResults) -> list[Sheet]:
    """Return, per form of the hypervolume, contenders down and problem instances across."""
    frame, sheets = results.hypervolumes, []
    for form, part in frame.groupby("form", sort=False) if len(frame) else ():
        labels = list(dict.fromkeys(part["instance_label"]))
        lines = {(line["contender"], line["instance_label"]): line for line in part.to_dict("records")}
        rows = [
            (Cell(name), *(_volume(lines.get((name, label)), 3 if form == "frozen" else 1) for label in labels))
            for name in results.order
        ]
        references = _reference_rows(results, part) if form == "frozen" else []
        title = FORMS[str(form)]
        sheets.append(
            Sheet(
                f"hypervolume-{form}",
                title[0].upper() + title[1:],
                ("method", *labels),
                (*rows, *references),
                part,
                (*reading_notes(part), *([REFERENCES] if references else [])),
            )
        )
    return sheets


def _reference_rows(results: SuiteResults, part: pd.DataFrame) -> list[tuple[Cell, ...]]:
    """Return what other algorithms reach at equal evaluations, below the methods, and never marked."""
    instances = list(dict.fromkeys(part["instance"]))
    names = list(dict.fromkeys(name for volumes in results.references.values() for name in volumes))
    found = [[results.references.get(instance, {}).get(name) for instance in instances] for name in names]
    return [
        cells([name, *("–" if v is None else number(v, 3) for v in row)])
        for name, row in zip(names, found, strict=True)
    ]


def pivot_sheets(results: SuiteResults) -> list[Sheet]:
    """Return the suite's own tables."""
    sheets = []
    shown = {entry.title: results.metrics[entry.value].better for entry in results.suite.tables}
    for position, (title, numbers) in enumerate(results.pivots, 1):
        column = str(numbers.columns.name).removeprefix("problem.")
        first = str(numbers.index.name).removeprefix("method.").removesuffix("_label")
        first = "method" if first == "contender" else first
        header = (first, *(f"{column}={spelled(value)}" for value in numbers.columns))
        listed = {str(name): row for name, row in numbers.iterrows()}
        order = [*(name for name in results.order if name in listed), *(n for n in listed if n not in results.order)]
        rows = [cells([name, *(number(float(value)) for value in listed[name])]) for name in order]
        better = ARROWS[shown.get(title)] if first == "method" else ""
        sheets.append(Sheet(f"table-{position}", f"{title}{better}", header, tuple(rows), numbers.reset_index()))
    return sheets


def published_sheet(comparisons: Sequence[Comparison]) -> Sheet:
    """Return published quantities and ours, row by row; remarks become numbered notes."""
    notes: list[str] = []
    rows = []
    for row in comparisons:
        if row.note and row.note not in notes:
            notes.append(row.note)
        mark = f" [{notes.index(row.note) + 1}]" if row.note else ""
        low, high = number(row.low), number(row.high)
        spread = "" if low == high else f"{low} … {high}"
        rows.append(cells([row.quantity + mark, row.paper, number(row.ours, 5), spread, str(row.runs)]))
    data = pd.DataFrame([vars(row) for row in comparisons])
    numbered = tuple(f"[{place}] {note}" for place, note in enumerate(notes, 1))
    header = ("quantity", "paper", "ours", "range", "runs")
    return Sheet("published", "Published and measured", header, tuple(rows), data, numbered)


def claims_sheet(claims: Sequence[ClaimResult]) -> Sheet:
    """Return the claims with what was measured and whether they hold."""
    rows = []
    for row in claims:
        verdict = {None: "no runs", True: "yes", False: f"no: {row.violated} of {row.cases}"}[row.holds]
        counted = f"{row.cases} {row.each}{'s' if row.cases != 1 else ''}"
        claimed = f"{SIGNS[row.relation]} {_spread(row.bound)}"
        stated = f"{row.claim} [{row.source}]" if row.source else row.claim
        rows.append(cells([stated, _spread(row.measured), claimed, counted, verdict]))
    header = ("claim [where it is stated]", "measured", "claimed", "looked at", "holds")
    data = pd.DataFrame([_claim_numbers(row) for row in claims])
    notes = tuple(dict.fromkeys(row.note for row in claims if row.note))
    return Sheet("claims", "Claims, and whether they hold", header, tuple(rows), data, notes)


def _claim_numbers(row: ClaimResult) -> dict[str, Any]:
    ends = {"measured": row.measured or (None, None), "bound": row.bound or (None, None)}
    split = {f"{name}_{end}": pair[place] for name, pair in ends.items() for place, end in enumerate(("low", "high"))}
    return {**{key: value for key, value in vars(row).items() if key not in ends}, **split, "holds": row.holds}


def _spread(values: tuple[float, float] | None) -> str:
    """Spell a range of numbers, or the number where they are spelled alike."""
    if values is None:
        return "–"
    low, high = (number(value) for value in values)
    return low if low == high else f"{low} … {high}"


def _value(line: Line, row: SelectedRow) -> Cell:
    if not line["n"]:
        return Cell("failed" if line["runs"] else "–")
    mean, low, high = (line[column] / row.unit for column in ("mean", "low", "high"))
    remark = f"({line['n']} of {line['n'] + line['missing']} seeds)" if line["missing"] else ""
    return number_cell(mean, low, high, row.decimals, strong=bool(line["best"]), remark=remark)


def _published(line: Line, row: SelectedRow) -> str:
    return "–" if math.isnan(line["published"]) else spelled_number(line["published"] / row.unit, row.decimals)


def _volume(line: Line | None, decimals: int) -> Cell:
    if line is None:
        return Cell("–")
    return number_cell(line["mean"], line["low"], line["high"], decimals, strong=bool(line["best"]))
