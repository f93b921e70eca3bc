"""Stored runs as rows for the terminal, of all methods or of some."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mobench.errors import unknown

if TYPE_CHECKING:
    import pandas as pd


def check_methods(wanted: Iterable[str], stored: Iterable[str]) -> None:
    """Refuse the name of a method of which no run is stored."""
    known = set(stored)
    for name in wanted:
        if name not in known:
            raise unknown("method in these results", name, known)


def runs_of(wanted: Iterable[str], table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of these methods; all rows if none is named."""
    names = list(wanted)
    check_methods(names, table["method"])
    return table[table["method"].isin(names)] if names else table


def short(table: pd.DataFrame) -> pd.DataFrame:
    """Return what a terminal has room for: which run it is, by an id that `mobench show` takes, and how it ended."""
    shown = ["id", "suite", "profile", "experiment", "problem_label", "method_label", "seed", "status"]
    kept = [name for name in shown if name != "experiment" or table[name].fillna("").ne("").any()]
    losses = [name for name in table if str(name).startswith("loss/") and table[name].notna().any()]
    return table[[*kept, *losses]].assign(id=table["id"].str[:12])
