"""An index of records as columns, in Parquet beside them: root/index/<name>.parquet.

It only saves reading. A row counts as long as its record's file has the size and the times that it had when it was
read; one of them, the time of the last change of any kind, cannot be set by a user. Rows of files that changed are read
again from the records, and an index that is missing, cut, or of another version is made anew.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from mobench.store.atomic import write_atomically
from mobench.store.columns import RunColumns
from mobench.store.record import RunRecord

VERSION = b"1"
_KEY = b"mobench.index"
_STATE = ("file.size", "file.mtime_ns", "file.ctime_ns")
_ABSENT = (-1, -1, -1)
_UNREADABLE = (-2, -2, -2)
"""Something is there, e.g. a link to itself: reading it says what."""
_TO_LOOK_IN = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY
"""How to open a folder in which files are asked for by name; to list it may be forbidden."""


def read_columns(
    file: Path,
    folder: Path,
    ids: list[str],
    read: Callable[[Iterable[str]], Iterable[RunRecord]],
) -> RunColumns:
    """Return the columns of some of the runs whose records are in `folder`, in the given order, without missing ones.

    `read` returns the records of ids that the index does not know.
    """
    states = _states_of(folder, ids)
    indexed = _load(file)
    indexed_ids = [] if indexed is None else indexed["id"].to_pylist()
    rows = _places(ids, indexed_ids)
    known = rows >= 0
    if indexed is not None:
        known[known] = (_states(indexed)[rows[known]] == states[known]).all(axis=1)
    there = (states != _ABSENT).any(axis=1)
    changed = [ids[row] for row in np.flatnonzero(there & ~known).tolist()]
    if indexed is not None and not changed:
        return _runs(indexed, rows[known & there])
    fresh = RunColumns.of(read(changed))
    state_of = dict(zip(ids, states, strict=True))
    parts = [_with_states(fresh.table, [state_of[id_] for id_ in fresh.ids])]
    if indexed is not None:
        replaced = {id_ for id_, is_known in zip(ids, known, strict=True) if not is_known}
        kept = np.array([id_ not in replaced for id_ in indexed_ids], dtype=bool)
        parts.insert(0, indexed.filter(pa.array(kept)))
    whole = RunColumns.together([RunColumns(part) for part in parts]).table
    if not whole.num_rows:
        return RunColumns.of(())
    _save(file, whole)
    rows = _places(ids, whole["id"].to_pylist())
    return _runs(whole, rows[rows >= 0])


def _places(ids: list[str], known: list[str]) -> NDArray[np.int64]:
    """Return where each of `ids` stands in `known`, -1 for nowhere."""
    if ids == known:  # all runs of a suite, and nothing else was ever indexed
        return np.arange(len(ids))
    place = {id_: row for row, id_ in enumerate(known)}
    return np.array([place.get(id_, -1) for id_ in ids], dtype=np.int64)


def _states_of(folder: Path, ids: Iterable[str]) -> NDArray[np.int64]:
    """Return size and times of every record's file; most of what that takes are the system's calls, one for each.

    Each is asked for within its own folder: to find a hundred thousand files from the root of all takes longer.
    """
    found = array("q")
    for prefix, members in groupby(ids, itemgetter(slice(2))):
        try:
            place = os.open(folder / prefix, _TO_LOOK_IN)
        except OSError as error:
            state = _ABSENT if isinstance(error, (FileNotFoundError, NotADirectoryError)) else _UNREADABLE
            for _ in members:
                found.extend(state)
            continue
        try:
            for id_ in members:
                found.extend(_state(f"{id_}.json", place))
        finally:
            os.close(place)
    return np.frombuffer(found, dtype=np.int64).reshape(-1, 3)


def _state(name: str, place: int) -> tuple[int, int, int]:
    try:
        status = os.stat(name, dir_fd=place)
    except FileNotFoundError:
        return _ABSENT
    except OSError:
        return _UNREADABLE
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _load(file: Path) -> pa.Table | None:
    """Return the index, None where there is none that can be used."""
    try:
        with pq.ParquetFile(file, page_checksum_verification=True, pre_buffer=True) as whole:
            table = whole.read()
    except (OSError, pa.ArrowException):
        return None
    if (table.schema.metadata or {}).get(_KEY) != VERSION or not {"id", "spec", *_STATE} <= set(table.column_names):
        return None
    return table


def _save(file: Path, table: pa.Table) -> None:
    sink = pa.BufferOutputStream()
    marked = table.replace_schema_metadata({_KEY: VERSION})
    pq.write_table(marked, sink, compression="zstd", write_page_checksum=True, use_dictionary=True)
    with suppress(OSError):  # a folder that can only be read has no index; everything works, if slower
        write_atomically(file, sink.getvalue().to_pybytes(), sync=False)


def _states(table: pa.Table) -> NDArray[np.int64]:
    return np.column_stack([table[name].to_numpy() for name in _STATE])


def _with_states(table: pa.Table, states: Sequence[NDArray[np.int64]]) -> pa.Table:
    columns = np.array(states, dtype=np.int64).reshape(-1, 3).T
    for name, values in zip(_STATE, columns, strict=True):
        table = table.append_column(name, pa.array(values))
    return table


def _runs(whole: pa.Table, rows: NDArray[np.int64]) -> RunColumns:
    """Return some rows, without numbers that only other rows have."""
    plain = whole.drop_columns(list(_STATE))
    if np.array_equal(rows, np.arange(whole.num_rows)):
        return RunColumns(plain)
    runs = RunColumns(plain.take(pa.array(rows)))
    return runs if len(runs) == whole.num_rows else runs.trimmed()
