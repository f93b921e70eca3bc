"""Files of published numbers, to stand beside ours where the profile is the one they were published for.

A profile names its files, `published_tables: [pruning]`: a file of `suites/published/`, or the path of a
YAML file. Such a file holds

    source     where the numbers come from
    tables     each with
      title      what was published
      where      the runs it speaks of, as columns of the results table
      units      by metric or pattern (`flops*`), the factor from the published unit to the metric's own
      notes      by metric or pattern, what a reader must know before comparing
      columns    one for each method: its name, or columns of the results table
      instances  each with its own `where` and, by metric, one number for each column, or one
                 number that is the same for all columns

A number stands beside a cell only if every run behind that cell agrees with all the `where`s.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from mobench.errors import UserError, unknown
from mobench.planning.yaml_text import read_yaml

KEYS = {"title": str, "where": dict, "units": dict, "notes": dict, "columns": list, "instances": list}


@dataclass(frozen=True)
class PublishedValue:
    """One published number."""

    metric: str
    value: float
    """In the metric's own unit."""
    where: Mapping[str, Any]
    """Columns of the results table, and what the runs it speaks of have there."""
    source: str
    note: str


def load_published(names: Iterable[str]) -> list[PublishedValue]:
    """Return all numbers of the named files."""
    return [value for name in names for value in _read(name)]


def find_published(values: Iterable[PublishedValue], metric: str, runs: pd.DataFrame) -> PublishedValue | None:
    """Return the number published for a metric of the given runs, None where there is none."""
    for value in values:
        if value.metric == metric and len(runs) and _agree(runs, value.where):
            return value
    return None


def _agree(runs: pd.DataFrame, where: Mapping[str, Any]) -> bool:
    return all(column in runs and bool((runs[column] == wanted).all()) for column, wanted in where.items())


def _read(name: str) -> list[PublishedValue]:
    folder = Path(str(resources.files("mobench.suites"))) / "published"
    files = {file.stem: file for file in folder.glob("*.yaml")}
    file = files.get(name, Path(name))
    if name not in files and not file.is_file():
        raise unknown("file of published_tables", name, files)
    try:
        raw = read_yaml(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"published_tables: {file.name} is not valid YAML: {error}") from None
    if not isinstance(raw, Mapping) or not isinstance(raw.get("tables"), list):
        raise UserError(f"published_tables: {file.name} must hold a mapping with source and tables")
    return [value for table in raw["tables"] for value in _table(file.name, str(raw.get("source", "")), table)]


def _table(file: str, source: str, table: Mapping[str, Any]) -> list[PublishedValue]:
    for key, value in table.items():
        if key not in KEYS:
            raise unknown(f"key in a table of {file}:", str(key), KEYS)
        if not isinstance(value, KEYS[key]):
            raise UserError(f"{file}: {key} has the wrong type: {value!r}")
    columns = [{"method": column} if isinstance(column, str) else column for column in table.get("columns", [])]
    values = []
    for instance in table.get("instances", []):
        for metric, numbers in instance.items():
            if metric == "where":
                continue
            listed = numbers if isinstance(numbers, list) else [numbers] * len(columns)
            if len(listed) != len(columns):
                raise UserError(f"{file}: {metric} has {len(listed)} numbers for {len(columns)} columns: {instance}")
            unit = _matching(table.get("units", {}), metric, 1.0)
            note = _matching(table.get("notes", {}), metric, "")
            for column, number in zip(columns, listed, strict=True):
                where = {**table.get("where", {}), **instance.get("where", {}), **column}
                values.append(PublishedValue(metric, float(number) * unit, where, source, note))
    return values


def _matching(patterns: Mapping[str, Any], metric: str, default: Any) -> Any:
    return next((value for pattern, value in patterns.items() if fnmatchcase(metric, pattern)), default)
