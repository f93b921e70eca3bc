"""Tables as CSV that a spreadsheet reads as what they are: no text of others becomes a formula."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TextIO

import pandas as pd

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a cell that begins like this for a formula; in a CSV file an apostrophe stands before it."""


def csv_text(table: pd.DataFrame) -> str:
    """Return a table as CSV."""
    text: str = _inert_table(table).to_csv(index=False)
    return text


def write_csv(table: pd.DataFrame, out: Path | TextIO) -> None:
    """Write a table as CSV, piece by piece."""
    _inert_table(table).to_csv(out, index=False)


def _inert_table(table: pd.DataFrame) -> pd.DataFrame:
    inert = table.apply(_inert_column)
    return inert.set_axis([_inert(name) for name in table.columns], axis=1)


def _inert_column(column: pd.Series[Any]) -> pd.Series[Any]:
    return column if column.dtype.kind in "biuf" else column.map(_inert)


def _inert(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
