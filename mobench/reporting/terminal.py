"""Tables and plans on the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from mobench.core.plain_text import plain
from mobench.reporting.format import headings, lines_of
from mobench.reporting.notes import incomplete_lines, sentences, state, verdict, verdict_on_claims
from mobench.scoring.headline import AIM, DIFFERENCE
from mobench.scoring.results import SuiteResults
from mobench.scoring.suite_tables import pivot_tables
from mobench.scoring.tables import Column, Table

if TYPE_CHECKING:
    from mobench.core.spec import RunSpec
    from mobench.planning.plan import Plan

SHORT = (AIM, DIFFERENCE, "seconds_per_step")
"""The columns of the headline that fit a terminal; cost is left out where names are long."""
PLACE = Column("place", "place")
BRACKETS = ("intervals", "differences")
"""The notes on intervals."""
GAP = 2
"""Blanks between columns."""
NARROWEST = 24
"""Letters that a long label may be folded to."""


def print_results(
    console: Console, results: SuiteResults, methods: Collection[str] = (), *, everything: bool = False, more: str = ""
) -> None:
    """Print a suite's headline, or every table; `more` is the command that prints them.

    With `methods` only their rows are printed, each with its place among all.
    """
    if methods and not {*methods} & {*results.methods.values()}:
        return
    if not len(results.table):
        console.print(f"{results.suite.name}: no results yet")
        return
    print_heading(console, results.suite.title, results.suite.name, results.profile)
    console.print(state(results))
    for line in incomplete_lines(results):
        console.print(Text(line))
    if not len(results.done):
        console.print(f"None of {len(results.table)} runs finished, so there is nothing to score.")
        return
    if everything:
        for table in results.tables:
            _print_rows_of(console, table, methods, notes=True)
        return
    _print_headline(console, results, methods)
    if results.claims and not methods:
        console.print(Text(verdict_on_claims(results.claims)))
    if more:
        console.print(Text(f"more: {more}", style="dim"), soft_wrap=True)


def _print_headline(console: Console, results: SuiteResults, methods: Collection[str]) -> None:
    """Print who is first, or the suite's own tables where nothing ranks."""
    table = results.headline
    if AIM not in (column.key for column in table.columns):
        for pivot in pivot_tables(results):
            _print_rows_of(console, pivot, methods)
        return
    short = table.only(SHORT)
    if len(_parts(_texts(short), False, console.width)) > 1:
        short = short.only(SHORT[:-1])
    _print_rows_of(console, replace(short, title=""), methods, rule=not methods)
    if not methods:
        console.print(Text(verdict(table)))
    for sentence in sentences(replace(short, columns=())) if table.leaders else ():
        console.print(Text(sentence, style="dim"))


def _print_rows_of(
    console: Console, table: Table, methods: Collection[str], *, notes: bool = False, rule: bool = False
) -> None:
    """Print a table, or the rows of some methods, each with its place; what is about no contender stands for all."""
    if methods:
        count = len(table.rows)
        placed = [replace(row, cells=(f"{at} of {count}", *row.cells)) for at, row in enumerate(table.rows, 1)]
        kept = tuple(row for row in placed if row.contender and row.contender.method in methods)
        if not kept:
            return
        table = replace(table, columns=(PLACE, *table.columns), rows=kept, references=())
    print_table(console, table, notes=notes, rule=rule)


def print_table(console: Console, table: Table, *, notes: bool = False, rule: bool = False) -> None:
    """Print one table within the width of the terminal; with `rule`, a line stands under its leaders.

    Texts come partly from plugins and suites, and are never read as markup. What is too wide is printed in parts.
    """
    console.print()
    title = plain(table.title)
    same = {column.direction for column in table.columns}
    arrow = len(table.columns) > 1 and len(same) == 1 and None not in same
    if title:
        console.print(Text(f"{title} {'↑' if 'max' in same else '↓'}" if arrow else title, style="bold"))
    if arrow and title:
        table = replace(table, columns=tuple(replace(column, direction=None) for column in table.columns))
    last = max((at for at, row in enumerate(table.rows) if row.label in table.leaders), default=-1)
    folded = 3 * max((cell_len(row.title) for row in table.rows), default=0) > 2 * console.width
    texts = _texts(table)
    if notes and len(_parts(texts, folded, console.width)) > 1:  # the documents have all intervals
        texts = _texts(table, intervals=False)
        table = replace(table, notes=tuple(note for note in table.notes if note.kind not in BRACKETS))
    for at_part, places in enumerate(_parts(texts, folded, console.width)):
        if at_part:
            console.print()
        head, *lines = _laid_out([[line[place] for place in places] for line in texts], folded, console.width)
        console.print(Text(head, style="dim"), soft_wrap=True)
        for at, line in enumerate(lines):
            console.print(Text(line), soft_wrap=True)
            if rule and at == last and at < len(lines) - 1:
                console.print(Text("─" * max(map(cell_len, [head, *lines])), style="dim"), soft_wrap=True)
    for sentence in sentences(table) if notes else ():
        console.print(Text(plain(sentence), style="dim"))


def _texts(table: Table, intervals: bool = True) -> list[list[str]]:
    """Return the head and all rows of a table as texts, those of others without control characters."""
    return [[plain(text) for text in texts] for texts in (headings(table), *lines_of(table, intervals))]


def _widths(texts: Sequence[Sequence[str]], folded: bool, width: int) -> list[int]:
    """Return the letters of each column; a label that is folded has what the others leave."""
    labels, *others = (max(map(cell_len, column)) for column in zip(*texts, strict=True))
    if folded:
        labels = min(labels, max(width - sum(others) - GAP * len(others), NARROWEST))
    return [labels, *others]


def _parts(texts: Sequence[Sequence[str]], folded: bool, width: int) -> list[list[int]]:
    """Return which columns stand together, as many as fit each time, the labels before each."""
    labels, *others = _widths(texts, folded, width)
    parts, used = [[0]], labels
    for place, needed in enumerate(others, 1):
        if len(parts[-1]) > 1 and used + GAP + needed > width:
            parts.append([0])
            used = labels
        parts[-1].append(place)
        used += GAP + needed
    return parts


def _laid_out(texts: Sequence[Sequence[str]], folded: bool, width: int) -> Iterator[str]:
    """Yield the head and every row, numbers to the right; a label that is folded makes further lines."""
    widths = _widths(texts, folded, width)
    for label, *cells in texts:
        first, *further = textwrap.wrap(label, widths[0]) or [""] if folded else [label]
        numbers = (" " * (room - cell_len(text)) + text for text, room in zip(cells, widths[1:], strict=True))
        yield "\n".join([(" " * GAP).join([first + " " * (widths[0] - cell_len(first)), *numbers]).rstrip(), *further])


def print_heading(console: Console, title: str, suite: str, profile: str) -> None:
    """Print a suite's title, name and profile."""
    console.print()
    console.print(Text(plain(f"{title} ({suite}, profile {profile})"), style="bold underline"))


def print_plan(console: Console, plan: Plan, pending: int, duration: str) -> None:
    """Print how many runs of which method on which problem are planned."""
    differs = f" with {plan.differs}" if plan.differs else ""
    print_heading(console, plan.suite.title, plan.suite.name, plan.suite.profile + differs)
    console.print(f"{len(plan.specs)} runs, {pending} to do, about {duration}")
    table = _grid("", "problem", "method", "configs", "seeds", "runs")
    counts: dict[tuple[str, str], list[RunSpec]] = {}
    for spec in plan.specs:
        counts.setdefault((spec.problem, spec.method.partition("@")[0]), []).append(spec)
    for (problem, method), specs in counts.items():
        configurations = len({spec.configuration.id for spec in specs})
        table.add_row(problem, method, str(configurations), str(len({spec.seed for spec in specs})), str(len(specs)))
    console.print(table)


def _grid(title: str, *columns: str) -> Grid:
    table = Grid(
        title=Text(plain(title), style="bold") if title else None,
        title_justify="left",
        box=None,
        pad_edge=False,
        header_style="dim",
    )
    for index, column in enumerate(columns):
        table.add_column(Text(plain(column)), justify="left" if index == 0 else "right", overflow="fold")
    return table
