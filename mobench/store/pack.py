"""Packs: the records of a finished suite in one file, root/packs/<suite>.<profile>.pack, byte for byte.

A pack is an SQLite database with a row per record: its id, the sha256 of its bytes, and the bytes, deflated. A record's
file in `runs` counts more than the same run in a pack, so a run that is repeated needs no change of the pack.

Both directions can be interrupted at any instant. Packing writes the whole file under a hidden name, reads it back,
renames it, and only then deletes the records' files; unpacking writes every file and only then deletes the pack. In
between runs are there twice, and the same command finishes the work.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from mobench.errors import UserError
from mobench.store.atomic import TEMPORARY, write_once

FORMAT = 1
SUFFIX = ".pack"
_TABLES = """
CREATE TABLE pack (format INTEGER NOT NULL);
CREATE TABLE records (id TEXT PRIMARY KEY, sha256 BLOB NOT NULL, content BLOB NOT NULL) WITHOUT ROWID;
"""
_DAMAGE = "{file} is not a whole pack: {reason}; move it away, and `mobench run` does its runs again"


class DamagedPackError(UserError):
    """A pack that cannot be read, as a whole."""


@dataclass(frozen=True)
class State:
    """What changes whenever a pack's file is written."""

    size: int
    mtime_ns: int
    ctime_ns: int


class Packs:
    """All packs of a results folder, read as far as they are asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.RLock()
        self._open: dict[Path, tuple[State, sqlite3.Connection]] = {}
        self._ids: dict[str, Path] = {}

    def ids(self) -> Mapping[str, Path]:
        """Return the packed runs, and in which file each is."""
        with self._lock:
            self._look()
            return self._ids

    def has(self, id_: str) -> bool:
        """Say whether a run is packed."""
        return id_ in self._ids or id_ in self.ids()

    def state(self, id_: str) -> State | None:
        """Return the state of the file that a run is packed in; `ids` says how old that knowledge may be."""
        file = self._ids.get(id_)
        return None if file is None else self._open[file][0]

    def read(self, id_: str) -> bytes | None:
        """Return the bytes of a packed record, None where there is none; raises ValueError if they were altered."""
        with self._lock:
            if id_ not in self._ids:
                self._look()
            file = self._ids.get(id_)
            if file is None:
                return None
            try:
                query = "SELECT sha256, content FROM records WHERE id = ?"
                digest, content = self._open[file][1].execute(query, (id_,)).fetchone()
            except (sqlite3.Error, TypeError) as error:
                raise ValueError(f"the pack {file} cannot be read: {error}") from error
        return _restored(digest, content)

    def _look(self) -> None:
        """Notice packs that came, changed or went away."""
        found = {}
        for file in sorted(self._folder.glob(f"[!.]*{SUFFIX}")):
            with suppress(FileNotFoundError):
                found[file] = _state(file)
        if found == {file: state for file, (state, _) in self._open.items()}:
            return
        for file, (state, connection) in list(self._open.items()):
            if found.get(file) != state:
                connection.close()
                del self._open[file]
        for file, state in found.items():
            if file not in self._open:
                self._open[file] = state, _connect(file)
        self._ids = {id_: file for file, (_, connection) in self._open.items() for id_ in _ids(file, connection)}


def pack_file(folder: Path, suite: str, profile: str) -> Path:
    """Return where the pack of a suite and profile is or will be."""
    return folder / f"{suite}.{profile}{SUFFIX}"


def write_pack(file: Path, records: Iterable[tuple[str, bytes]]) -> int:
    """Write a pack whole or not at all, and return how many records it has."""
    file.parent.mkdir(parents=True, exist_ok=True)
    hidden = file.with_name(f".{file.name}.{os.getpid()}.{secrets.token_hex(4)}{TEMPORARY}")
    try:
        with closing(sqlite3.connect(hidden, isolation_level=None)) as database:
            database.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + _TABLES)
            database.execute("BEGIN")
            database.execute("INSERT INTO pack VALUES (?)", (FORMAT,))
            rows = ((id_, hashlib.sha256(content).digest(), zlib.compress(content)) for id_, content in records)
            count = database.executemany("INSERT INTO records VALUES (?, ?, ?)", rows).rowcount
            database.execute("COMMIT")
        _sync(hidden)
        with closing(_connect(hidden)) as database:
            for digest, content in database.execute("SELECT sha256, content FROM records"):
                _restored(digest, content)
        hidden.replace(file)
        _sync(file.parent)
    finally:
        hidden.unlink(missing_ok=True)
    return max(count, 0)


def contents(file: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every record of a pack; one that was altered raises `DamagedPackError`."""
    with closing(_connect(file)) as database:
        try:
            for id_, digest, content in database.execute("SELECT id, sha256, content FROM records ORDER BY id"):
                yield id_, _restored(digest, content)
        except (sqlite3.Error, ValueError) as error:
            raise DamagedPackError(_DAMAGE.format(file=file, reason=error)) from error


def write_file(path: Path, content: bytes) -> None:
    """Write a record's file, unless there is one; it is on the disk when this returns."""
    write_once(path, content, sync=True)


def _connect(file: Path) -> sqlite3.Connection:
    """Open a pack for reading alone; it never changes in place, so no locks are needed, on NFS neither."""
    connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
    try:
        (version,) = connection.execute("SELECT format FROM pack").fetchone()
    except (sqlite3.Error, TypeError) as error:
        connection.close()
        raise DamagedPackError(_DAMAGE.format(file=file, reason=error)) from error
    if version != FORMAT:
        connection.close()
        raise UserError(f"{file} has format {version}; this mobench reads format {FORMAT}: install a newer one")
    return connection


def _ids(file: Path, connection: sqlite3.Connection) -> list[str]:
    try:
        return [id_ for (id_,) in connection.execute("SELECT id FROM records")]
    except sqlite3.Error as error:
        raise DamagedPackError(_DAMAGE.format(file=file, reason=error)) from error


def _restored(digest: bytes, content: bytes) -> bytes:
    try:
        restored = zlib.decompress(content)
    except (zlib.error, TypeError) as error:
        raise ValueError(f"it cannot be unpacked: {error}") from error
    if hashlib.sha256(restored).digest() != digest:
        raise ValueError("its checksum in the pack does not fit: the pack was altered")
    return restored


def _state(file: Path) -> State:
    status = file.stat()
    return State(status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
