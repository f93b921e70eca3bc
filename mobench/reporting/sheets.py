"""The tables of a suite, contenders down; terminal, Markdown, LaTeX and the site show the same ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from mobench.core.metric import Metric
from mobench.reporting.related_methods import relation_notes
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
from mobench.scoring.hypervolumes import PAPER
from mobench.scoring.published import Comparison
from mobench.scoring.selected_rows import SelectedRow
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
        "Conf: configurations tried. HV: the hypervolume that ranks, in frozen bounds, mean over problem instances. "
        "Of a step's time the own part is spent inside the method; the shared part is an equal share of what the runs "
        "that trained together did for all of them: losses, gradients, the update. "
        "Progress: mean cosine of the update with the gradient of the worst served secondary.",
        *([INTERVALS] if scores["low"].notna().any() else []),
        *relation_notes(results.table, results.problems),
    )
    return Sheet("methods", "Methods over all problem instances", header, tuple(rows), scores, notes)


def selected_sheets(results: SuiteResults, asked: Sequence[SelectedRow] | None = None) -> list[Sheet]:
    """Return, per problem instance, the numbers of the selected configurations, their settings, and other tables.

    `asked` are the rows to show; left out, all of the suite.
    """
    frame, sheets = results.selected, []
    asked = results.selected_rows if asked is None else asked
    tables = dict.fromkeys(row.table for row in asked)
    for _, part in frame.groupby("instance", sort=False) if len(frame) else ():
        stem = slug(part["instance_label"].iloc[0])
        for title in tables:
            rows = [row for row in asked if row.table == title and (part["row"] == row.key).any()]
            if rows:
                name = f"{slug(title)}-{stem}" if title else f"selected-{stem}"
                sheets.append(_selected_sheet(results, part, rows, name, title or "Selected configurations"))
            if rows and not title:
                sheets.append(_chosen_sheet(results, part, rows, f"chosen-{stem}"))
    return sheets


def drop_sheets(results: SuiteResults) -> list[Sheet]:
    """Return the tables that compare the selected configurations with a baseline, seed by seed."""
    return selected_sheets(results, [row for row in results.selected_rows if row.criterion.against])


def _selected_sheet(
    results: SuiteResults, part: pd.DataFrame, rows: Sequence[SelectedRow], name: str, title: str
) -> Sheet:
    part = part[part["row"].isin([row.key for row in rows])]
    lines = {(line["row"], line["contender"]): line for line in part.to_dict("records")}
    published = [row for row in rows if part.loc[part["row"] == row.key, "published"].notna().any()]
    counts = part.groupby("contender")[["tried", "failed"]].max()
    header = (
        "method",
        *(row.label + ARROWS[row.criterion.best] for row in rows),
        *(f"{row.label}, published" for row in published),
        "tried",
        "failed",
    )
    numbers = [
        (
            Cell(contender),
            *(_value(lines[row.key, contender], row) for row in rows),
            *(Cell(_published(lines[row.key, contender], row)) for row in published),
            *cells([str(counts.loc[contender, column]) for column in ("tried", "failed")]),
        )
        for contender in _present(results, part)
    ]
    remarks = [str(remark) for remark in (*part["source"].unique(), *part["note"].unique()) if remark]
    notes = (
        *selection_words([row.criterion for row in rows], part, results.problems),
        "Tried: configurations of the sweep.",
        *(f"{row.label}: {_fixed(row)}." for row in rows if row.criterion.fixed),
        *reading_notes(part),
        *(f"Published: {remark}" for remark in remarks),
    )
    return Sheet(name, f"{title}, {part['instance_label'].iloc[0]}", header, tuple(numbers), part, notes)


def _chosen_sheet(results: SuiteResults, part: pd.DataFrame, rows: Sequence[SelectedRow], name: str) -> Sheet:
    lines = {(line["row"], line["contender"]): line for line in part.to_dict("records")}
    chosen = tuple(
        cells([contender, *(lines[row.key, contender]["chosen"] or "–" for row in rows)])
        for contender in _present(results, part)
    )
    title = f"Settings of the selected, {part['instance_label'].iloc[0]}"
    return Sheet(name, title, ("method", *(row.label for row in rows)), chosen, None)


def _present(results: SuiteResults, part: pd.DataFrame) -> list[str]:
    return [name for name in results.order if (part["contender"] == name).any()]


def _fixed(row: SelectedRow) -> str:
    """Say which methods a row shows at fixed settings."""
    fixed = row.criterion.fixed.items()
    texts = [
        f"{name} at {', '.join(f'{key}={spelled(value)}' for key, value in given.items())}" for name, given in fixed
    ]
    return f"{', '.join(texts)}, not selected"


def selection_policy(results: SuiteResults) -> list[str]:
    """Say on which data configurations are selected, and on which they are measured."""
    return selection_words([row.criterion for row in results.selected_rows], results.selected, results.problems)


def hypervolume_sheets(results: SuiteResults) -> list[Sheet]:
    """Return the hypervolumes, contenders down: of one problem instance all forms, of several a sheet for each form."""
    frame = results.hypervolumes
    if not len(frame):
        return []
    if frame["instance"].nunique() == 1:
        meanings = frame.drop_duplicates("form")[["form_label", "form_meaning"]].to_dict("records")
        notes = [f"{_capital(line['form_label'])}: {line['form_meaning']}." for line in meanings]
        return [_volumes_sheet(results, frame, "form_label", "hypervolumes", "Hypervolumes", notes)]
    return [
        _volumes_sheet(results, part, "instance_label", f"hypervolume-{form}", _capital(_said(part["form_meaning"])))
        for form, part in frame.groupby("form", sort=False)
    ]


def _volumes_sheet(
    results: SuiteResults, part: pd.DataFrame, across: str, stem: str, title: str, notes: Sequence[str] = ()
) -> Sheet:
    columns = part.drop_duplicates(across)
    lines = {(line["contender"], line[across]): line for line in part.to_dict("records")}
    rows = [(Cell(name), *(_volume(lines.get((name, label))) for label in columns[across])) for name in results.order]
    references = _reference_rows(results, columns)
    remarks = (*notes, *reading_notes(part), *([REFERENCES] if references else []))
    header = ("method", *(label + ARROWS["max"] for label in columns[across]))
    return Sheet(stem, title, header, (*rows, *references), part, remarks, below=len(references))


def _said(sentences: pd.Series[str]) -> str:
    """Return what is said of several instances, each once."""
    return "; or ".join(sentences.unique())


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _reference_rows(results: SuiteResults, columns: pd.DataFrame) -> list[tuple[Cell, ...]]:
    """Return what other algorithms reach at equal evaluations, below the methods, and never marked."""
    known = [
        results.references.get(line["instance"], {}) if line["headline"] else {} for line in columns.to_dict("records")
    ]
    names = dict.fromkeys(name for volumes in known for name in volumes)
    return [
        cells([name, *("–" if name not in volumes else number(volumes[name], 3) for volumes in known)])
        for name in names
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
        rows = [(Cell(name), *(Cell(number(float(n)), value=float(n)) for n in listed[name])) for name in order]
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


def _volume(line: Line | None) -> Cell:
    if line is None:
        return Cell("–")
    decimals = 1 if line["form"] == PAPER else 3
    return number_cell(line["mean"], line["low"], line["high"], decimals, strong=bool(line["best"]))
