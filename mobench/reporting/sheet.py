"""A table that is ready to be shown, whatever the format: texts in cells, and the numbers behind them."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from mobench.scoring.indicators.paired import FEWEST_SEEDS

INTERVALS = "In brackets: 95 % bootstrap interval over seeds."
MARKED = "Bold: the best, and all that the seeds cannot tell from it (paired t-interval, 95 %)."

LONGEST = 80
"""How many letters of a text stand in the name of a file."""


@dataclass(frozen=True)
class Cell:
    """A text, and whether it is among the best of its column."""

    text: str
    strong: bool = False
    interval: str = ""
    """The uncertainty of the number, shown where there is room for it."""
    value: float = math.nan
    """The number behind the text, NaN where there is none."""

    @property
    def full(self) -> str:
        """The text with its interval."""
        return f"{self.text} {self.interval}" if self.interval else self.text


@dataclass(frozen=True)
class Sheet:
    """One table of a document."""

    name: str
    """The stem of its files."""
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    data: pd.DataFrame | None
    """Every number behind the cells, in full precision: the CSV file. None where another sheet holds them."""
    notes: tuple[str, ...] = ()
    below: int = 0
    """How many rows at the end are no contenders and stay there."""


def reading_notes(frame: pd.DataFrame) -> tuple[str, ...]:
    """Say what brackets and bold mean in a table made of `frame`, whose columns `n` and `low` are over seeds."""
    if frame["n"].max() < FEWEST_SEEDS:
        return (f"No best is marked: it takes {FEWEST_SEEDS} seeds to tell methods apart.",)
    return (INTERVALS, MARKED)


def slug(text: str) -> str:
    """Return a text as the stem of a file; what tells numbers apart (`=`, `.`, `+`, `-`) is kept."""
    return re.sub(r"[^a-z0-9=.+-]+", "-", text.lower()).strip("-.")


def file_name(text: str) -> str:
    """Return a text as part of a file's name; what is long is cut, and the start of its hash keeps names apart."""
    plain = slug(text)
    return plain if len(plain) <= LONGEST else f"{plain[:LONGEST]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def cells(texts: Sequence[str]) -> tuple[Cell, ...]:
    """Return plain cells."""
    return tuple(Cell(text) for text in texts)


def number(value: Any, digits: int = 4) -> str:
    """Spell a number with so many significant digits; a dash for what is missing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if not isinstance(value, float):
        return str(value)
    if value and not 1e-3 <= abs(value) < 1e5:
        return f"{value:.{min(digits, 4) - 2}e}"
    return f"{value:.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def spelled_number(value: Any, decimals: int | None = None) -> str:
    """Return a number with so many decimals, by default with four significant digits; a dash if there is none."""
    if decimals is None or not isinstance(value, float) or math.isnan(value):
        return number(value)
    return f"{value:.{decimals}f}"


def number_cell(
    mean: float, low: float, high: float, decimals: int | None = None, *, strong: bool = False, remark: str = ""
) -> Cell:
    """Return `mean [low, high]`, or the mean alone where there is no interval."""
    ends = ", ".join(spelled_number(end, decimals) for end in (low, high))
    interval = "" if math.isnan(mean) or math.isnan(low) else f"[{ends}]"
    return Cell(spelled_number(mean, decimals), strong, f"{interval} {remark}".strip(), mean)
