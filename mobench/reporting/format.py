"""Numbers as text. Every number that a terminal, a page or a document shows is spelled here."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mobench.core.metric import Direction
from mobench.scoring.tables import Column, Estimate, Range, Table, Value

MISSING = "–"
FAILED = "failed"
RELATIONS = {"<=": "≤", ">=": "≥", "==": "=", "<": "<", ">": ">"}
ARROWS: Mapping[Direction | None, str] = {"max": " ↑", "min": " ↓", None: ""}
"""Which way a column is better."""
LONGEST = 80
"""How many letters of a text stand in the name of a file."""


def number(value: Any, digits: int = 4, *, decimals: int | None = None) -> str:
    """Spell a number with so many significant digits, or else decimals; a dash for what is missing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    if isinstance(value, bool) or not isinstance(value, float):
        return str(value)
    if decimals is not None:
        return f"{value:.{decimals}f}"
    if value and not 1e-3 <= abs(value) < 1e5:
        return f"{value:.{min(digits, 4) - 2}e}"
    return f"{value:.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def signed(value: float, decimals: int | None = None) -> str:
    """Spell a difference with its sign."""
    text = number(value, decimals=decimals)
    return text if text.startswith(("-", MISSING)) else f"+{text}"


def interval(low: float | None, high: float | None, decimals: int | None = None) -> str:
    """Spell the ends of an interval; nothing where there is none."""
    if low is None or high is None or math.isnan(low):
        return ""
    return f"[{number(low, decimals=decimals)}, {number(high, decimals=decimals)}]"


def value_text(value: Value, column: Column) -> str:
    """Spell what a row has in a column, without its interval."""
    if isinstance(value, Estimate):
        if not value.values:
            return FAILED if value.runs or value.failed else MISSING
        spelled = signed if value.paired else number
        return spelled(value.mean / column.unit, decimals=column.decimals)
    if isinstance(value, Range):
        ends = [number(end, decimals=column.decimals) for end in (value.low, value.high)]
        shown = ends[0] if value.low == value.high else " … ".join(ends)
        return f"{RELATIONS[value.relation]} {shown}" if value.relation else shown
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value / column.unit if isinstance(value, float) else value, decimals=column.decimals)


def interval_text(value: Value, column: Column) -> str:
    """Spell the interval of a number, and how many of its seeds there are where some are missing."""
    if not isinstance(value, Estimate) or value.interval is None:
        return ""
    found, unit = value.interval, column.unit
    ends = [None if end is None else end / unit for end in (found.low, found.high)]
    seeds = f"({found.n} of {found.n + value.missing} seeds)" if value.missing else ""
    return f"{interval(ends[0], ends[1], column.decimals)} {seeds}".strip()


def full_text(value: Value, column: Column) -> str:
    """Spell what a row has in a column, with its interval."""
    return f"{value_text(value, column)} {interval_text(value, column)}".strip()


def published_text(value: Value, column: Column) -> str:
    """Spell the number that is published for this one."""
    if not isinstance(value, Estimate) or value.published is None:
        return MISSING
    return number(value.published.value / column.unit, decimals=column.decimals)


def heading(column: Column) -> str:
    """Return the head of a column: its label and the way it is better."""
    return column.label + ARROWS[column.direction]


def headings(table: Table) -> list[str]:
    """Return the heads of a table's columns, with one for the published numbers of each that has some."""
    shown = [column.label for column in _with_published(table)]
    return [table.first, *map(heading, table.columns), *(f"{label}, published" for label in shown)]


def lines_of(table: Table, intervals: bool = True) -> Iterator[list[str]]:
    """Yield the texts of every row, under `headings`, with or without intervals."""
    spelled = full_text if intervals else value_text
    beside = [(table.place(column.key), column) for column in _with_published(table)]
    for row in (*table.rows, *table.references):
        own = [spelled(value, column) for value, column in zip(row.cells, table.columns, strict=True)]
        yield [row.title, *own, *(published_text(row.cells[place], column) for place, column in beside)]


def _with_published(table: Table) -> list[Column]:
    return [
        column
        for place, column in enumerate(table.columns)
        if any(isinstance(cell := row.cells[place], Estimate) and cell.published for row in table.rows)
    ]


def slug(text: str) -> str:
    """Return a text as the stem of a file; what tells numbers apart (`=`, `.`, `+`, `-`) is kept."""
    return re.sub(r"[^a-z0-9=.+-]+", "-", text.lower()).strip("-.")


def file_name(text: str) -> str:
    """Return a text as part of a file's name; what is long is cut, and the start of its hash keeps names apart."""
    plain = slug(text)
    return plain if len(plain) <= LONGEST else f"{plain[:LONGEST]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
