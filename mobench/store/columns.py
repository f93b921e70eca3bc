"""Many runs as columns: everything that tables and scores read, but no curves.

A row per run. `spec` is the canonical JSON of the run's spec without its seed, and `environment` is JSON too;
both are dictionaries of few entries. Numbers are under `metric/…`, `diagnostic/…` (mean over steps), `total/…` and
`timing/…`, NaN where a run has none.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mobench.core.spec import RunSpec
from mobench.store.record import Environment, RunRecord

METRIC, DIAGNOSTIC, TOTAL, TIMING = KINDS = ("metric/", "diagnostic/", "total/", "timing/")
_FIXED = pa.schema(
    [
        ("id", pa.string()),
        ("spec", pa.dictionary(pa.int32(), pa.string())),
        ("seed", pa.int64()),
        ("status", pa.string()),
        ("backward_passes", pa.int64()),
        ("peak_memory", pa.int64()),
        ("failed_at_step", pa.int64()),
        ("error", pa.string()),
        ("environment", pa.dictionary(pa.int32(), pa.string())),
        ("started", pa.string()),
        ("finished", pa.string()),
    ]
)


@dataclass(frozen=True)
class RunColumns:
    """Runs as an Arrow table."""

    table: pa.Table

    @classmethod
    def of(cls, records: Iterable[RunRecord]) -> RunColumns:
        """Turn records into columns one by one, so that curves need not be in memory together."""
        builder = _Builder()
        for record in records:
            builder.add(record)
        return cls(builder.table())

    @classmethod
    def together(cls, parts: Sequence[RunColumns]) -> RunColumns:
        """Return the runs of all parts; a number that a part does not know is NaN there."""
        tables = [part.table for part in parts if len(part)]
        if len(tables) < 2:
            return cls(tables[0] if tables else _Builder().table())
        names = dict.fromkeys(name for table in tables for name in table.column_names)
        return cls(pa.concat_tables([_with_columns(table, names) for table in tables]).unify_dictionaries())

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def ids(self) -> list[str]:
        """The runs' ids."""
        return self.strings("id")

    @cached_property
    def specs(self) -> tuple[list[RunSpec], NDArray[np.int64]]:
        """The different specs, with seed -1, and for every run the number of its own."""
        texts, codes = self._dictionary("spec")
        return [RunSpec.from_json(orjson.loads(text)) for text in texts], codes

    @cached_property
    def environments(self) -> tuple[list[Environment], NDArray[np.int64]]:
        """The different environments, and for every run the number of its own."""
        texts, codes = self._dictionary("environment")
        return [Environment(**orjson.loads(text)) for text in texts], codes

    def strings(self, name: str) -> list[str]:
        """Return a column of texts."""
        found: list[str] = self.table[name].to_pylist()
        return found

    def numbers(self, kind: str) -> Iterator[tuple[str, NDArray[np.float64]]]:
        """Yield the columns of one kind of numbers, without the kind's prefix."""
        for name in self.table.column_names:
            if name.startswith(kind):
                yield name.removeprefix(kind), self.table[name].to_numpy()

    def trimmed(self) -> RunColumns:
        """Return the runs without the numbers that none of them has."""
        empty = [
            name
            for name in self.table.column_names
            if name.startswith(KINDS) and np.isnan(self.table[name].to_numpy()).all()
        ]
        return RunColumns(self.table.drop_columns(empty))

    def _dictionary(self, name: str) -> tuple[list[str], NDArray[np.int64]]:
        """Return the entries of a dictionary that occur, and the code of every row."""
        column = self.table[name].unify_dictionaries().combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
        used, codes = np.unique(column.indices.to_numpy(), return_inverse=True)
        return column.dictionary.take(pa.array(used)).to_pylist(), codes

    def bounds(self) -> tuple[str, str]:
        """Return when the first run began and the last one ended."""
        return pc.min(self.table["started"]).as_py() or "", pc.max(self.table["finished"]).as_py() or ""


class _Builder:
    """Columns that grow by a record at a time."""

    def __init__(self) -> None:
        self.fixed: dict[str, list[Any]] = {name: [] for name in _FIXED.names}
        self.numbers: dict[str, array[float]] = {}
        self.specs: dict[str, str] = {}
        self.environments: dict[str, str] = {}

    def add(self, record: RunRecord) -> None:
        spec, outcome = record.spec, record.outcome
        row = len(self.fixed["id"])
        key = repr({**vars(spec), "seed": None, "id": None})
        if key not in self.specs:
            self.specs[key] = spec.configuration.canonical
        known = repr(record.environment)
        if known not in self.environments:
            self.environments[known] = orjson.dumps(asdict(record.environment)).decode()
        values = (
            record.id,
            self.specs[key],
            spec.seed,
            outcome.status,
            outcome.backward_passes,
            record.peak_memory,
            outcome.failed_at_step,
            outcome.error,
            self.environments[known],
            record.started,
            record.finished,
        )
        for column, value in zip(self.fixed.values(), values, strict=True):
            column.append(value)
        self.put(row, METRIC, outcome.metrics)
        self.put(row, DIAGNOSTIC, {name: value["mean"] for name, value in outcome.diagnostics.items()})
        self.put(row, TOTAL, {name: value["total"] for name, value in outcome.diagnostics.items()})
        self.put(row, TIMING, outcome.timings)

    def put(self, row: int, kind: str, numbers: Any) -> None:
        for name, value in numbers.items():
            column = self.numbers.setdefault(kind + name, array("d"))
            column.extend([math.nan] * (row - len(column)))
            column.append(math.nan if value is None else value)

    def table(self) -> pa.Table:
        rows = len(self.fixed["id"])
        arrays = [
            pa.array(values, field.type.value_type).dictionary_encode()
            if pa.types.is_dictionary(field.type)
            else pa.array(values, field.type)
            for field, values in zip(_FIXED, self.fixed.values(), strict=True)
        ]
        schema = list(_FIXED)
        for name in sorted(self.numbers, key=lambda name: [name.startswith(kind) for kind in KINDS].index(True)):
            column = self.numbers[name]
            column.extend([math.nan] * (rows - len(column)))
            arrays.append(pa.array(np.frombuffer(column) if rows else [], pa.float64()))
            schema.append(pa.field(name, pa.float64()))
        return pa.table(arrays, schema=pa.schema(schema))


def _with_columns(table: pa.Table, names: Iterable[str]) -> pa.Table:
    """Return the table with the given columns in their order, NaN where it has none."""
    missing = pa.array(np.full(table.num_rows, math.nan))
    return pa.table({name: table[name] if name in table.column_names else missing for name in names})
