"""Tables as CSV that a spreadsheet reads as what they are: no text of others becomes a formula."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TextIO

import pandas as pd

from mobench.scoring.tables import Table

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a cell that begins like this for a formula; in a CSV file an apostrophe stands before it."""


CHUNK = 10_000
"""How many rows are written at a time."""


def csv_text(table: pd.DataFrame) -> str:
    """Return a table as CSV."""
    text: str = _inert_table(table).to_csv(index=False)
    return text


def tables_csv(tables: Iterable[Table]) -> str:
    """Return tables as one CSV: a line for every number, in full precision."""
    return csv_text(pd.concat([table.frame().astype(object) for table in tables], ignore_index=True))


def write_csv(table: pd.DataFrame, out: Path | TextIO) -> None:
    """Write a table as CSV, piece by piece: a copy of all of it would take much memory."""
    with out.open("w", encoding="utf-8", newline="") if isinstance(out, Path) else nullcontext(out) as file:
        for start in range(0, max(len(table), 1), CHUNK):
            _inert_table(table.iloc[start : start + CHUNK]).to_csv(file, index=False, header=not start)


def _inert_table(table: pd.DataFrame) -> pd.DataFrame:
    inert = table.apply(_inert_column)
    return inert.set_axis([_inert(name) for name in table.columns], axis=1)


def _inert_column(column: pd.Series[Any]) -> pd.Series[Any]:
    if column.dtype.kind in "biuf":
        return column
    return pd.Series([_inert(value) for value in column], column.index, dtype=object)


def _inert(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
