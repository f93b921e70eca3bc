"""The end of a run on the terminal: scores of the methods, the suite's tables, published beside ours."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.console import Console
from rich.table import Table

from mobench.planning.suite import Suite
from mobench.scoring.contenders import ordered_contenders, with_contenders
from mobench.scoring.published import compare
from mobench.scoring.scores import overall_scores
from mobench.scoring.selected import selected_frame, selected_rows
from mobench.scoring.tables import suite_tables

if TYPE_CHECKING:
    from mobench.core.spec import RunSpec
    from mobench.planning.plan import Plan
    from mobench.store.record import RunRecord


def print_report(console: Console, suite: Suite, table: pd.DataFrame) -> None:
    """Print everything a suite reports about its results."""
    if not len(table):
        console.print(f"{suite.name}: no results yet")
        return
    print_heading(console, suite)
    if not (table["status"] == "done").any():
        console.print(f"None of {len(table)} runs finished, so there is nothing to score.")
        return
    console.print(_scores(table))
    if suite.selected:
        console.print("Configurations selected on validation, measured on test; * best, or tied with it:")
        for selected in _selected(suite, table):
            console.print(selected)
    for title, numbers in suite_tables(suite, table):
        console.print(_pivot(title, numbers))
    if suite.published:
        console.print(_published(suite, table))


def print_heading(console: Console, suite: Suite) -> None:
    """Print a suite's title, name and profile."""
    console.print(f"\n{suite.title} ({suite.name}, profile {suite.profile})", style="bold underline")


def _spelled(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def number(value: Any, digits: int = 4) -> str:
    """Spell a number with so many significant digits; a dash for what is missing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, float) and value and not 1e-3 <= abs(value) < 1e5:
        return f"{value:.{min(digits, 4) - 2}e}"
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def _table(title: str, *columns: str) -> Table:
    table = Table(
        title=title or None, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="dim"
    )
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right", overflow="fold")
    return table


def _scores(results: pd.DataFrame) -> Table:
    scores = overall_scores(results)
    table = _table("Methods", "method", "conf", "runs", "fail", "HV [95 %]", "progress", "µs/step", "own µs")
    for row in scores.to_dict("records"):
        interval = "–" if math.isnan(row["hypervolume"]) else f"{row['hypervolume']:.3f}"
        if not math.isnan(row["low"]):
            interval += f" [{row['low']:.3f}, {row['high']:.3f}]"
        table.add_row(
            row["method"],
            str(row["configurations"]),
            str(row["runs"]),
            str(row["failed"]),
            interval,
            number(row["secondary_progress"]),
            f"{1e6 * row['seconds_per_step']:.1f}",
            f"{1e6 * row['method_seconds_per_step']:.1f}",
        )
    return table


def _selected(suite: Suite, results: pd.DataFrame) -> Iterator[Table]:
    """Yield, per problem instance, the test values of the configurations selected on validation data."""
    rows = selected_rows(suite)
    table = with_contenders(results, suite.split)
    order = ordered_contenders(table, suite.methods)
    for label, lines in selected_frame(rows, table).groupby("instance_label", sort=False):
        found = {(line["contender"], line["row"]): line for line in lines.to_dict("records")}
        shown = _table(str(label), "method", *(row.label for row in rows))
        for contender in order:
            entries = [(row, found.get((contender, row.label))) for row in rows]
            cells = ["–" if line is None else _selected_cell(line, row.unit, row.decimals) for row, line in entries]
            shown.add_row(contender, *cells)
        yield shown


def _selected_cell(line: Mapping[Any, Any], unit: float, decimals: int | None) -> str:
    if not line["n"]:
        return "failed"
    value = line["mean"] / unit
    text = number(value) if decimals is None else f"{value:.{decimals}f}"
    return f"{text}*" if line["best"] else f"{text} "


def _pivot(title: str, numbers: pd.DataFrame) -> Table:
    header = str(numbers.columns.name).removeprefix("problem.")
    rows = str(numbers.index.name).removeprefix("method.").removesuffix("_label")
    table = _table(title, rows, *(f"{header}={_spelled(column)}" for column in numbers.columns))
    for name, row in numbers.iterrows():
        table.add_row(number(name), *(number(float(value)) for value in row))
    return table


def _published(suite: Suite, results: pd.DataFrame) -> Table:
    table = _table("Published and measured", "quantity", "paper", "ours", "range", "runs")
    notes: list[str] = []
    for row in compare(suite, results):
        mark = ""
        if row.note:
            if row.note not in notes:
                notes.append(row.note)
            mark = f" [{notes.index(row.note) + 1}]"
        low, high = number(row.low), number(row.high)
        spread = "" if low == high else f"{low} … {high}"
        table.add_row(row.quantity + mark, row.paper, number(row.ours, 5), spread, str(row.runs))
    if notes:
        table.caption = "\n".join(f"[{index + 1}] {note}" for index, note in enumerate(notes))
        table.caption_justify = "left"
    return table


def print_plan(console: Console, plan: Plan, pending: int, duration: str) -> None:
    """Print how many runs of which method on which problem are planned."""
    print_heading(console, plan.suite)
    console.print(f"{len(plan.specs)} runs, {pending} to do, about {duration}")
    table = _table("", "problem", "method", "configs", "seeds", "runs")
    counts: dict[tuple[str, str], list[RunSpec]] = {}
    for spec in plan.specs:
        counts.setdefault((spec.problem, spec.method.partition("@")[0]), []).append(spec)
    for (problem, method), specs in counts.items():
        configurations = len({spec.configuration.id for spec in specs})
        table.add_row(problem, method, str(configurations), str(len({spec.seed for spec in specs})), str(len(specs)))
    console.print(table)


def print_record(console: Console, record: RunRecord) -> None:
    """Print one stored run."""
    spec, outcome = record.spec, record.outcome
    table = _table(f"run {record.id[:12]}: {outcome.status}", "", "")
    table.columns[1].justify = "left"
    table.show_header = False
    sections: dict[str, Mapping[str, Any]] = {
        spec.problem: spec.problem_settings,
        spec.method: spec.method_settings,
        "training": {**spec.training, "seed": spec.seed},
        "metrics": outcome.metrics,
        "diagnostics (mean)": {name: value["mean"] for name, value in outcome.diagnostics.items()},
        "cost": {**outcome.timings, "backward_passes": outcome.backward_passes, "peak_memory": record.peak_memory},
        "environment": asdict(record.environment),
    }
    for section, entries in sections.items():
        table.add_row(f"[bold]{section}[/bold]", "")
        for name, value in entries.items():
            table.add_row(f"  {name}", number(value))
    console.print(table)
    if outcome.error:
        console.print(outcome.error, markup=False)
