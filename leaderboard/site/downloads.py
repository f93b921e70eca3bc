"""All runs as files for other tools: Parquet and CSV, a row per run, with the meaning of every column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pandas as pd

from mobench.reporting.csv import write_csv
from mobench.scoring.catalog import MetricCatalog
from mobench.scoring.results import SuiteResults

FILES = ("results.parquet", "results.csv", "schema.json")


def all_runs(results: Iterable[SuiteResults]) -> pd.DataFrame:
    """Return one table of all runs; a run that two experiments share has a row in each."""
    parts = [found.named.dropna(axis=1, how="all") for found in results]
    table = pd.concat(parts, ignore_index=True)
    lacking = dict.fromkeys(name for name in ("failed_at_step", "error") if name not in table)
    table = table.assign(**lacking)
    front = ["suite", "profile", "experiment", "contender", "instance_label", "submitted"]
    return table[[*(name for name in front if name in table), *(name for name in table if name not in front)]]


@dataclass(frozen=True)
class ColumnMeaning:
    """One column of the downloads."""

    name: str
    type: str
    unit: str
    better: str
    meaning: str


def schema(table: pd.DataFrame, metrics: MetricCatalog) -> list[ColumnMeaning]:
    """Return name, type and meaning of every column of the table."""
    described = [(str(name), metrics[str(name)]) for name in table.columns]
    return [
        ColumnMeaning(name, _type(table[name]), metric.unit, metric.better or "", metric.meaning)
        for name, metric in described
    ]


def write_results(table: pd.DataFrame, metrics: MetricCatalog, folder: Path) -> dict[str, int]:
    """Write every file of results, and return their sizes by name."""
    folder.mkdir(parents=True, exist_ok=True)
    plain = table.apply(_flat)
    plain.to_parquet(folder / "results.parquet", index=False)
    write_csv(plain, folder / "results.csv")
    described = [vars(column) for column in schema(table, metrics)]
    (folder / "schema.json").write_bytes(orjson.dumps(described, option=orjson.OPT_INDENT_2))
    return {name: (folder / name).stat().st_size for name in FILES}


def _flat(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column of one type: where lists stand among other values, all are written as JSON."""
    if column.dtype.kind != "O":
        return column
    kinds = {type(value) for value in column.dropna()}
    if len(kinds) <= 1 and list not in kinds:
        return column
    if kinds <= {int, float}:
        return column.astype(float)
    return column.map(lambda value: value if value is None or isinstance(value, str) else orjson.dumps(value).decode())


def _type(column: pd.Series[Any]) -> str:
    kinds = {"b": "boolean", "i": "integer", "u": "integer", "f": "number"}
    if column.dtype.kind in kinds:
        return kinds[column.dtype.kind]
    present = column.dropna()
    if len(present) and present.map(lambda value: isinstance(value, list)).any():
        return "number or list"
    return "text"
