"""Leases: which driver is doing a run, so that several drivers share one results folder.

root/leases/<owner>.driver        a driver: who and where it is
root/leases/<run id>.<generation>  a lease: a hard link to the file of the driver that has it

A driver beats by touching its file; since leases are links to it, one touch renews them all. An owner that
is stalled, gone or finished loses its leases: whoever wants such a run links the next generation. Linking
fails if the name exists, on local disks and on NFS, so exactly one driver gets each generation, without locks.
A generation is removed only when the run has its record, so no number is ever given twice to one run.

Clocks are not compared: a heartbeat is stale when it did not change for as long as its owner promised, measured by
the observer's own clock. On one machine a dead owner is noticed at once.
"""

from __future__ import annotations

import getpass
import json
import os
import platform
import re
import secrets
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from mobench.core.process_name import machine
from mobench.errors import StorageError
from mobench.store.atomic import NO_LINKS, STALE_SECONDS, refresh, write_atomically

LEASE_SECONDS = 60.0
"""How long a heartbeat may stay away before another driver takes over."""
BEATS = 6
"""Heartbeats within that time."""
LARGEST = 1 << 16
"""No lease is larger than this many bytes."""

_LEASE = re.compile(r"(?P<id>[0-9a-f]{64})\.(?P<generation>[1-9]\d*)")


@dataclass(frozen=True)
class Owner:
    """A driver as its leases describe it."""

    owner: str
    """A name that no other driver has."""
    host: str
    machine: str
    """Tells processes apart whose ids mean nothing to each other: after a reboot, in another container."""
    pid: int
    started: float
    """When the process was created; process ids are used again."""
    user: str
    seconds: float
    """How long its heartbeat may stay away."""
    heartbeat: float = 0.0
    """When it was last alive, by the clock of the file's machine; 0 once it gave its leases back."""

    @classmethod
    def here(cls, seconds: float) -> Owner:
        """Describe this process."""
        process = psutil.Process()
        return cls(
            owner=f"{platform.node() or 'host'}-{process.pid}-{secrets.token_hex(4)}",
            host=platform.node(),
            machine=machine(),
            pid=process.pid,
            started=process.create_time(),
            user=_user(),
            seconds=seconds,
        )

    @property
    def is_over(self) -> bool:
        """Whether it is certain, without waiting, that this driver does nothing any more."""
        if self.heartbeat == 0.0:
            return True
        if self.machine != machine():
            return False
        try:
            process = psutil.Process(self.pid)
            return abs(process.create_time() - self.started) > 1.0 or process.status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True
        except psutil.AccessDenied:
            return False

    @property
    def is_silent(self) -> bool:
        """Whether its heartbeat stays away for longer than it promised, if the clocks of both machines agree."""
        return time.time() - self.heartbeat > self.seconds

    @property
    def is_forgotten(self) -> bool:
        """Whether this driver is over, or was silent for so long that no clock can be that wrong."""
        return self.is_over or time.time() - self.heartbeat > STALE_SECONDS


@dataclass(frozen=True)
class Fence:
    """What a worker needs to know whether its driver still has a run. It travels with the job."""

    folder: Path
    owner: str

    def holds(self, id_: str) -> bool:
        """Say whether the newest lease of run `id_` is this owner's."""
        refresh(self.folder)
        newest = _newest(self.folder, id_)
        return newest is not None and newest[1].owner == self.owner


class Leases:
    """The leases of this process on the runs of a results folder, renewed while the block lasts."""

    def __init__(self, root: Path, seconds: float = LEASE_SECONDS) -> None:
        self._folder = root.absolute() / "leases"
        self._me = Owner.here(seconds)
        self._file = self._folder / f"{self._me.owner}.driver"
        self._copies: set[Path] = set()
        self._seen: dict[Path, tuple[Owner, float]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    @property
    def owner(self) -> Owner:
        """This driver."""
        return self._me

    @property
    def fence(self) -> Fence:
        """What a worker asks before it stores a result."""
        return Fence(self._folder, self._me.owner)

    def __enter__(self) -> Self:
        write_atomically(self._file, json.dumps(asdict(self._me), indent=1).encode(), sync=False)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        with suppress(OSError):  # a folder that went away or became read-only has no leases to give back
            for path in (self._file, *self._copies):
                os.utime(path, (0.0, 0.0))
            self._file.unlink()

    def check_there(self) -> None:
        """Raise `StorageError` if this driver's own file is gone: nobody but it deletes that while it is alive."""
        try:
            self._file.stat()
        except (FileNotFoundError, NotADirectoryError):
            raise StorageError(
                f"{self._folder.parent} was deleted under way, in whole or in part; the suite is stopped, and the same "
                "command does again what is missing"
            ) from None
        except OSError:  # a file server that does not answer now may do so later
            return

    def acquire(self, id_: str) -> bool:
        """Take the lease of run `id_`; False while another driver that is alive has it."""
        newest = _newest(self._folder, id_)
        generation = 1 if newest is None else newest[0] + 1
        if newest is not None:
            if newest[1].owner == self._me.owner:
                return True
            if not self._has_lapsed(self._folder / f"{id_}.{newest[0]}", newest[1]):
                return False
        path = self._folder / f"{id_}.{generation}"
        try:
            os.link(self._file, path)
        except FileExistsError:  # another was faster, or a repeated network request found its own link
            owner = read_owner(path)
            return owner is not None and owner.owner == self._me.owner
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            return self._copy(path)
        return True

    def release(self, id_: str) -> None:
        """Remove the lease of run `id_`, which has its record now, and those of owners before."""
        for path in _generations(self._folder, id_):
            path.unlink(missing_ok=True)
            self._copies.discard(path)
            self._seen.pop(path, None)

    def holder(self, id_: str) -> Owner | None:
        """Return who has run `id_`."""
        newest = _newest(self._folder, id_)
        return None if newest is None else newest[1]

    def _copy(self, path: Path) -> bool:
        """Make a lease where there are no hard links: a file of its own, renewed like the driver's."""
        try:
            file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        except FileExistsError:
            return False
        with os.fdopen(file, "wb") as lease:
            lease.write(self._file.read_bytes())
        self._copies.add(path)
        return True

    def _has_lapsed(self, path: Path, owner: Owner) -> bool:
        """Say whether the owner is over, or its heartbeat did not change while we watched."""
        if owner.is_over:
            return True
        before, since = self._seen.get(path, (None, 0.0))
        if before != owner:
            self._seen[path] = owner, time.monotonic()
            return False
        return time.monotonic() - since > owner.seconds

    def _beat(self) -> None:
        while not self._stop.wait(self._me.seconds / BEATS):
            with suppress(OSError):  # a heartbeat that fails is a heartbeat that stays away
                for path in (self._file, *self._copies.copy()):
                    os.utime(path)


def drivers(root: Path) -> Iterator[Owner]:
    """Yield the drivers that have a file in a results folder, dead or alive."""
    folder = root / "leases"
    for name in _names(folder):
        if name.endswith(".driver") and (owner := read_owner(folder / name)) is not None:
            yield owner


def held(root: Path) -> Iterator[tuple[str, Owner]]:
    """Yield every leased run of a results folder with its newest owner, dead or alive."""
    folder = root / "leases"
    for id_ in sorted({match["id"] for name in _names(folder) if (match := _LEASE.fullmatch(name))}):
        if (newest := _newest(folder, id_)) is not None:
            yield id_, newest[1]


def sweep(root: Path, has_record: Callable[[str], bool]) -> None:
    """Delete what drivers left that are over: their files, and leases on runs that have their records.

    The lease on a run without a record stays, for the one who takes over.
    """
    folder = root / "leases"
    for name in _names(folder):
        if name.endswith(".driver") and (owner := read_owner(folder / name)) is not None and owner.is_forgotten:
            (folder / name).unlink(missing_ok=True)
    for id_, owner in held(root):
        if owner.is_forgotten and has_record(id_):
            for path in _generations(folder, id_):
                path.unlink(missing_ok=True)


def _newest(folder: Path, id_: str) -> tuple[int, Owner] | None:
    """Return the highest generation of a run's lease and its owner."""
    generation, found = 1, None
    while (owner := read_owner(folder / f"{id_}.{generation}")) is not None:
        found = generation, owner
        generation += 1
    return found


def _generations(folder: Path, id_: str) -> list[Path]:
    """Return a run's leases, the newest first."""
    newest = _newest(folder, id_)
    return [folder / f"{id_}.{generation}" for generation in range(newest[0] if newest else 0, 0, -1)]


def read_owner(path: Path) -> Owner | None:
    """Read a lease; None where there is none. What cannot be read is somebody's who promised the usual time.

    Opening a file asks an NFS server for its present attributes; `stat` alone may answer from a cache.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    with os.fdopen(file, "rb") as lease:
        status = os.fstat(file)
        text = lease.read(LARGEST) if stat.S_ISREG(status.st_mode) else b""
    try:
        owner = Owner(**json.loads(text))
        owner = replace(owner, seconds=float(owner.seconds), pid=int(owner.pid), started=float(owner.started))
    except (ValueError, TypeError):
        owner = Owner(f"unreadable {path.name}", "unknown", "unknown", 0, 0.0, "unknown", LEASE_SECONDS)
    return replace(owner, heartbeat=max(0.0, status.st_mtime))


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except FileNotFoundError:
        return []


@cache
def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return str(os.getuid())
