"""The site's tables, ready for the templates: texts, values to sort by, and where each number's data lies."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from markupsafe import Markup

from mobench.reporting.format import MISSING, full_text, lines_of, number
from mobench.reporting.notes import INTERVALS
from mobench.scoring.indicators.paired import FEWEST_SEEDS
from mobench.scoring.results import SuiteResults
from mobench.scoring.tables import Column, Range, Table, Value, number_of

from .contender_links import ContenderLink
from .old_tables import (
    Measure,
    Number,
    NumberCell,
    NumberColumn,
    NumberRow,
    NumberTable,
    PlainCell,
    SuiteNumbers,
)
from .reading import stem_of
from .suite_numbers import spelled

MARKED = "Shaded: the best, and all that the seeds cannot tell from it (paired t-interval, 95 %)."
BEST_FIRST = "Best first, by the first metric shown that has a better direction: its mean rank over the problems shown."
MANY = 9
"""With more columns than this, a page begins with one metric."""


def contenders_table(
    numbers: SuiteNumbers, links: Mapping[str, ContenderLink], instances: Sequence[str]
) -> NumberTable:
    """Return contenders down, the given problem instances and all measures across."""
    shorten = _shortener(numbers, instances)
    places = [
        (position, instance)
        for position in range(len(numbers.measures))
        for instance in instances
        if any((position, instance, contender) in numbers.entries for contender in numbers.results.order)
    ]
    columns = [
        NumberColumn(
            str(position),
            instance[:16],
            numbers.measures[position].label,
            shorten(instance) if len(instances) > 1 else _meaning(numbers, numbers.measures[position]),
            numbers.measures[position].best or "",
        )
        for position, instance in places
    ]
    rows = []
    for contender in numbers.results.order:
        cells = [_cell(numbers, position, instance, contender) for position, instance in places]
        if any(cells):
            sent_in = numbers.results.submitted.get(links[contender].method)
            ranked = contender not in numbers.results.unranked
            rows.append(_row(links[contender], cells, sent_in.verdict if sent_in else "", ranked))
    used = dict.fromkeys(position for position, _ in places)
    ordered_by = ordering_columns(columns)
    rows = best_first(rows, columns, ordered_by)
    suite = numbers.results.suite
    caption = f"{suite.title}: " + (
        numbers.instances[instances[0]] if len(instances) == 1 else f"{len(instances)} problems"
    )
    return NumberTable(
        f"results-{stem_of(numbers.results).replace('.', '-')}",
        caption,
        f"data/{stem_of(numbers.results)}/",
        columns,
        rows,
        measures=[(str(position), _long_label(numbers, numbers.measures[position])) for position in used],
        problems=[(instance[:16], shorten(instance)) for instance in instances],
        preferred="0" if len(columns) > MANY and len(used) > 1 else "",
        sorted_by=ordered_by[0] if len(ordered_by) == 1 else None,
        notes=[*([BEST_FIRST] if ordered_by else []), *_notes(numbers, list(used))],
    )


def ordering_columns(columns: Sequence[NumberColumn]) -> list[int]:
    """Return the columns that decide which row comes first: those of the first measure that has a better way."""
    first = next((column.measure for column in columns if column.best), None)
    return [place for place, column in enumerate(columns) if column.measure == first]


def best_first(
    rows: Sequence[NumberRow], columns: Sequence[NumberColumn], ordered_by: Sequence[int]
) -> list[NumberRow]:
    """Return the rows by their mean rank in these columns; in a column, what has no number comes last.

    `table.js` does the same when a reader chooses other columns.
    """
    means = [0.0] * len(rows)
    for place in ordered_by:
        cells = [row.cells[place] for row in rows]
        values = [math.inf if cell is None or not cell.value else float(cell.value) for cell in cells]
        if columns[place].best == "max":
            values = [value if math.isinf(value) else -value for value in values]
        for at, value in enumerate(values):
            means[at] += (sum(other < value for other in values) + sum(other <= value for other in values)) / 2
    ordered = sorted(range(len(rows)), key=lambda at: (not rows[at].ranked, means[at]))
    return [rows[at] for at in ordered]


def problems_table(numbers: SuiteNumbers, link: ContenderLink, contender: str) -> NumberTable:
    """Return one contender's numbers: problem instances down, measures across."""
    positions = list(range(len(numbers.measures)))
    rows = []
    for instance, label in numbers.instances.items():
        cells = [_cell(numbers, position, instance, contender) for position in positions]
        if any(cells):
            rows.append(NumberRow(label, "", Markup(), "", cells))
    suite = numbers.results.suite
    stem = stem_of(numbers.results).replace(".", "-")
    return NumberTable(
        f"{stem}-{numbers.results.order.index(contender)}",
        f"{link.name} in {suite.title} ({suite.name}, profile {numbers.results.profile})",
        f"data/{stem_of(numbers.results)}/",
        [_column(numbers, at) for at in positions],
        rows,
        first="problem",
    )


def plain_rows(table: Table) -> list[list[PlainCell]]:
    """Return a suite's table as text; a cell that is a number sorts as one."""
    rows = []
    for row, texts in zip((*table.rows, *table.references), lines_of(table), strict=True):
        own = zip(row.cells, table.columns, texts[1:], strict=False)
        cells = [PlainCell(text, _sort_value(value, column)) for value, column, text in own]
        published = [PlainCell(text, _sort_text(text)) for text in texts[1 + len(cells) :]]
        rows.append([PlainCell(row.label), *cells, *published])
    return rows


CLAIMED = "(claimed)"
"""Stands beside costs that only the submitter measured."""


def cost_rows(results: SuiteResults) -> list[list[PlainCell]]:
    """Return effort and cost of every contender, in the order of the suite."""
    claimed = {method for method, sent_in in results.submitted.items() if sent_in.claimed}
    table = results.headline.only(COSTS)
    rows = {row.label: row for row in table.rows}
    return [
        [
            PlainCell(f"{name} {CLAIMED}" if results.methods[name] in claimed else name),
            *(
                PlainCell(full_text(value, column), _sort_value(value, column))
                for value, column in zip(rows[name].cells, table.columns, strict=True)
            ),
        ]
        for name in results.order
    ]


COSTS = (
    "configurations", "runs", "failed", "seconds_per_step", "method_seconds_per_step", "shared_seconds_per_step",
    "passes_per_step", "peak_memory",
)  # fmt: skip
COST_HEADER = (
    "method", "configurations", "runs", "failed", "ms/step", "own µs/step", "shared µs/step", "backward passes/step",
    "peak MB",
)  # fmt: skip
COST_NOTES = (
    "Medians over runs, measured where they ran: compare within one machine only.",
    "Own time is spent inside the method. Shared time is an equal share of what runs in lockstep do together; they "
    "also share a process's memory. A problem that knows its gradients needs no backward pass.",
    f"{CLAIMED}: sent in, and not repeated in full; what it costs is the submitter's word.",
)


def _row(link: ContenderLink, cells: list[NumberCell | None], verdict: str, ranked: bool) -> NumberRow:
    return NumberRow(link.name, link.href, link.marker, link.submitted, cells, verdict, ranked)


def _cell(numbers: SuiteNumbers, position: int, instance: str, contender: str) -> NumberCell | None:
    entry = numbers.entries.get((position, instance, contender))
    if entry is None:
        return None
    measure = numbers.measures[position]
    mean, ends = spelled(entry, measure)
    published = "" if entry.published is None else number(entry.published / measure.unit, decimals=measure.decimals)
    file = numbers.files[instance, contender]
    return NumberCell(
        value="" if entry.failed else repr(entry.spread[0] / measure.unit),
        mean=mean,
        interval=ends,
        published=published,
        remark=_remark(entry),
        class_="failed" if entry.failed else "best" if entry.best else "",
        file=file,
        key=f"{stem_of(numbers.results)}/{file}",
        position=position,
    )


def _remark(entry: Number) -> str:
    if entry.failed or not entry.missing:
        return ""
    return f"{len(entry.values)} of {len(entry.values) + entry.missing} seeds"


def _shortener(numbers: SuiteNumbers, instances: Sequence[str]) -> Callable[[str], str]:
    """Return how instances are named: without the problem's name where all are of one problem."""
    one = len({numbers.problems[instance] for instance in instances}) == 1

    def shorten(instance: str) -> str:
        label = numbers.instances[instance]
        return label.partition(": ")[2] or label if one else label

    return shorten


def _notes(numbers: SuiteNumbers, positions: Sequence[int]) -> list[str]:
    kinds: dict[str, list[str]] = {}
    for position in positions:
        kinds.setdefault(numbers.measures[position].how, []).append(numbers.measures[position].label)
    notes = [f"{', '.join(labels)}: {how}." for how, labels in kinds.items()]
    if any(entry.spread[1] is not None for entry in numbers.entries.values() if not entry.failed):
        notes += [INTERVALS, MARKED]
    else:
        notes.append(
            f"No best is marked: one seed says nothing about noise, and it takes {FEWEST_SEEDS} to tell methods apart."
        )
    sources = dict.fromkeys(entry.source for entry in numbers.entries.values() if entry.source)
    remarks = dict.fromkeys(entry.note for entry in numbers.entries.values() if entry.note)
    return [*notes, *(f"Published: {text}" for text in (*sources, *remarks))]


def _sort_value(value: Value, column: Column) -> str | None:
    """Return the sort key of a cell: nothing where a number is missing, None where it is a text."""
    if isinstance(value, (str, bool, Range)):
        return None
    found = number_of(value)
    return "" if math.isnan(found) else repr(found if isinstance(value, int) else found / column.unit)


def _sort_text(text: str) -> str:
    return "" if text == MISSING else repr(float(text))


def _column(numbers: SuiteNumbers, position: int) -> NumberColumn:
    measure = numbers.measures[position]
    return NumberColumn(str(position), "", measure.label, _meaning(numbers, measure), measure.best or "")


def _meaning(numbers: SuiteNumbers, measure: Measure) -> str:
    """Return the metric in words where the label does not say it."""
    words = numbers.results.metrics[measure.metric].heading
    return "" if words in (measure.label, measure.label.partition(" (")[0]) else words


def _long_label(numbers: SuiteNumbers, measure: Measure) -> str:
    meaning = _meaning(numbers, measure)
    return f"{measure.label}: {meaning}" if meaning else measure.label
