"""The model of a table: contenders down, columns across, numbers and labels inside, no sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pandas as pd

from mobench.core.metric import Direction
from mobench.scoring.contender import Contender
from mobench.scoring.indicators.intervals import Interval, interval
from mobench.scoring.indicators.paired import paired_interval
from mobench.scoring.published import PublishedValue


@dataclass(frozen=True)
class Estimate:
    """A number over seeds, with everything that a reader needs to doubt it."""

    values: Mapping[int, float] = field(default_factory=dict)
    """By seed; empty where no run finished."""
    configuration: str | None = None
    """The id of the configuration that was chosen; None where the number belongs to a whole sweep."""
    settings: str = ""
    """The settings of that configuration: those that were swept, or else those that are not at their defaults."""
    score: float = math.nan
    """The mean over seeds of the metric that chose it."""
    missing: int = 0
    """Number of the instance's seeds that are missing."""
    tried: int = 0
    """How many configurations were chosen from."""
    runs: int = 0
    failed: int = 0
    """How many of these runs failed."""
    published: PublishedValue | None = None
    paired: bool = False
    """Whether the values are differences at equal seeds; by their interval, Student's t, methods are told apart."""

    @cached_property
    def interval(self) -> Interval | None:
        """Mean and 95 % interval over seeds; None without a value."""
        if not self.values:
            return None
        return paired_interval(self.values.values()) if self.paired else interval(self.values.values())

    @property
    def mean(self) -> float:
        """The mean over seeds, NaN without a value."""
        return math.nan if self.interval is None else self.interval.mean

    @property
    def holds_zero(self) -> bool:
        """Whether 0 lies in the interval."""
        found = self.interval
        return found is not None and found.low is not None and found.high is not None and found.low <= 0.0 <= found.high


@dataclass(frozen=True)
class Range:
    """The smallest and the largest of some numbers, with a relation to them where there is one."""

    low: float | None
    high: float | None
    relation: str = ""


Value = Estimate | Range | float | int | str | None
"""What a row has in a column."""


def number_of(value: Value) -> float:
    """Return the number behind a value, NaN where there is none."""
    if isinstance(value, Estimate):
        return value.mean
    return float(value) if isinstance(value, (float, int)) else math.nan


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    key: str
    """What tells it from the others of its table."""
    label: str
    metric: str = ""
    """The name of the metric; empty where it is none, e.g. a count."""
    direction: Direction | None = None
    """Which way it is better."""
    unit: float = 1.0
    """What numbers are divided by to be shown."""
    decimals: int | None = None
    """Digits after the point; None for four significant ones."""
    note: str = ""
    """The meaning that the metric's owner declares."""


@dataclass(frozen=True)
class Row:
    """One row of a table: a contender, or whatever else stands in it."""

    label: str
    """What tells it from the others, e.g. `ws(form=penalty)`."""
    cells: tuple[Value, ...]
    """One for each column."""
    contender: Contender | None = None

    @property
    def title(self) -> str:
        """Its name for people."""
        return self.label if self.contender is None else self.contender.title


@dataclass(frozen=True)
class Note:
    """A fact about a table; `reporting.notes` makes a sentence of it."""

    kind: str
    values: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Table:
    """One table of a suite."""

    name: str
    """What tells it from the suite's other tables; the stem of its files."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    references: tuple[Row, ...] = ()
    """Rows that are no contenders. They stand at the end."""
    notes: tuple[Note, ...] = ()
    ranked_by: tuple[str, ...] | None = None
    """The columns whose mean orders rows; left out, the first that has a direction."""
    leaders: tuple[str, ...] = ()
    """The first row and those that cannot be told from it; empty where seeds are too few to tell."""
    first: str = "method"
    """The heading of the labels."""

    def place(self, key: str) -> int:
        """Return where a column stands."""
        return [column.key for column in self.columns].index(key)

    def column(self, key: str) -> list[Value]:
        """Return the values of a column in the order of the rows."""
        place = self.place(key)
        return [row.cells[place] for row in self.rows]

    def cell(self, label: str, key: str) -> Value:
        """Return what a row has in a column."""
        return next(row for row in self.rows if row.label == label).cells[self.place(key)]

    @property
    def direction(self) -> Direction | None:
        """Which way the column that orders rows is better."""
        return next((column.direction for column in self.columns if column.key in self._order), None)

    @property
    def _order(self) -> tuple[str, ...]:
        if self.ranked_by is not None:
            return self.ranked_by
        return tuple(column.key for column in self.columns if column.direction)[:1]

    def sorted(self) -> Table:
        """Put the best row first. What has no number comes last, and equals keep their order."""
        places, sign = [self.place(key) for key in self._order], -1.0 if self.direction == "max" else 1.0
        if self.direction is None:
            return self

        def key(row: Row) -> tuple[bool, float]:
            numbers = [found for place in places if not math.isnan(found := number_of(row.cells[place]))]
            return not numbers, sign * math.fsum(numbers) / len(numbers) if numbers else 0.0

        return replace(self, rows=tuple(sorted(self.rows, key=key)))

    def only(self, keys: Iterable[str]) -> Table:
        """Return the table with some of its columns, in the given order."""
        places = [self.place(key) for key in keys]

        def narrowed(rows: tuple[Row, ...]) -> tuple[Row, ...]:
            return tuple(replace(row, cells=tuple(row.cells[place] for place in places)) for row in rows)

        kept = tuple(self.columns[place] for place in places)
        return replace(self, columns=kept, rows=narrowed(self.rows), references=narrowed(self.references))

    def frame(self) -> pd.DataFrame:
        """Return a line for every cell that holds a value, in full precision."""
        lines = [
            {"table": self.name, "row": row.label, "column": column.key, "metric": column.metric, **_line(value)}
            for row in (*self.rows, *self.references)
            for column, value in zip(self.columns, row.cells, strict=True)
            if value is not None
        ]
        return pd.DataFrame(lines, columns=list(FRAME))


FRAME = (
    "table", "row", "column", "metric", "value", "low", "high", "text", "seeds", "missing", "tried", "failed",
    "configuration", "settings", "published", "source",
)  # fmt: skip
"""The columns of a table's frame. `low` and `high` are a 95 % interval over seeds, or the ends of a range."""


def _line(value: Value) -> dict[str, Any]:
    if isinstance(value, Range):
        return {"low": value.low, "high": value.high, "text": value.relation}
    if not isinstance(value, Estimate):
        return {"text": value} if isinstance(value, str) else {"value": value}
    found, published = value.interval, value.published
    return {
        "value": value.mean,
        "low": None if found is None else found.low,
        "high": None if found is None else found.high,
        "seeds": len(value.values),
        "missing": value.missing,
        "tried": value.tried,
        "failed": value.failed,
        "configuration": value.configuration,
        "settings": value.settings,
        "published": None if published is None else published.value,
        "source": None if published is None else published.source,
    }
