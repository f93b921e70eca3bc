"""Runs on disk: one atomic file per run under its content-addressed id, and the suites' manifests.

root/runs/ab/abcd….json              one record
root/manifests/<suite>.<profile>.json   the runs of a suite
root/artifacts/ab/abcd….pt           tensors a run keeps, e.g. trained weights
root/checkpoints/abcd….pt            a long run under way
root/leases/abcd….1                  who is doing a run, see `lease`
root/status/<owner>.json             how far a driver is, see `driver_status`
root/index/<suite>.<profile>.parquet    columns of records, to save reading them, see `index`
"""

from __future__ import annotations

import difflib
import errno
import io
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any

from mobench.core.outcome import Status
from mobench.core.process_name import process_name
from mobench.core.spec import RunSpec
from mobench.errors import StorageError, UserError, unknown
from mobench.store import driver_status, lease
from mobench.store.atomic import TEMPORARY, refresh, remove_stale, rename_once, write_atomically, write_once
from mobench.store.record import NewerSchemaError, RunRecord, history_of
from mobench.store.suite_manifest import SuiteManifest, add_runs, read_all

if TYPE_CHECKING:
    import torch

    from mobench.planning.suite import Suite
    from mobench.store.columns import RunColumns

SYNC_AFTER_SECONDS = 1.0
"""Records of runs that took longer are forced to disk at once (about a millisecond each).

A record that costs less to compute than to sync may be lost or cut in a power failure, never when
a process is killed; a cut record is reported and its run repeated.
"""

PROBE_BYTES = 1 << 20
"""What has to fit into a folder that can be written."""

DAMAGED = ".damaged"
"""The ending of files that were set aside."""

_ID = re.compile(r"[0-9a-f]{64}")
_SHOWN = 12


class DamagedRecordError(UserError):
    """A file in the store is not the record it should be. It is never deleted."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} is not a whole run record: {reason}")
        self.path = path


Stamp = tuple[int, int]
"""Identifies one writing of a file."""
OnDamage = Callable[[DamagedRecordError], None]
"""Called for every damaged file; where none is given the error is raised."""


class Store:
    """The results folder `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._runs = root / "runs"
        self._manifests = root / "manifests"

    def path(self, id_: str) -> Path:
        """Return where the record of run `id_` is or will be."""
        return self._runs / id_[:2] / f"{id_}.json"

    def checkpoint(self, id_: str) -> Path:
        """Return where the state of run `id_` is kept while it trains."""
        return self.root / "checkpoints" / f"{id_}.pt"

    def checkpoint_stamp(self, id_: str) -> Stamp | None:
        """Return what changes whenever that state is written, None where there is none."""
        try:
            status = self.checkpoint(id_).stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns

    def artifact(self, id_: str) -> Path:
        """Return where the tensors of a run are kept."""
        return self.root / "artifacts" / id_[:2] / f"{id_}.pt"

    def save_artifact(self, id_: str, tensors: Mapping[str, torch.Tensor]) -> None:
        """Keep the tensors of a run; they are written before its record, so that a record finds them."""
        import torch

        buffer = io.BytesIO()
        torch.save({name: tensor.detach().cpu().clone() for name, tensor in tensors.items()}, buffer)
        self.receive_artifact(id_, buffer.getvalue())

    def receive_artifact(self, id_: str, content: bytes) -> None:
        """Keep the tensors of a run as another store wrote them."""
        write_atomically(self.artifact(id_), content, sync=False)

    def receive_checkpoint(self, id_: str, content: bytes) -> None:
        """Keep the state of a run as another store wrote it."""
        write_atomically(self.checkpoint(id_), content, sync=True)

    def load_artifact(self, id_: str) -> dict[str, torch.Tensor]:
        """Return the tensors of a run, on the CPU."""
        import torch

        path = self.artifact(id_)
        if not path.exists():
            raise UserError(f"run {id_[:12]} has no stored tensors: {path} is missing")
        try:
            tensors: dict[str, torch.Tensor] = torch.load(path, weights_only=True, map_location="cpu")
        except (RuntimeError, OSError, EOFError, UnpicklingError) as error:
            raise UserError(f"{path} cannot be read, perhaps it was cut off: {error}") from error
        return tensors

    def has(self, id_: str) -> bool:
        """Say whether there is a file for run `id_`."""
        return self.path(id_).exists()

    def stamp(self, id_: str) -> Stamp | None:
        """Return something that changes whenever the run's record is written; None where it has no file."""
        return _stamp(self.path(id_))

    def is_open(self, id_: str, stamp: Stamp | None) -> bool:
        """Say whether run `id_` is still to do, if it was when its record had this `stamp`.

        It is not if another process has stored a record since, or a run that is done.
        """
        refresh(self.path(id_).parent)
        if self.stamp(id_) != stamp:
            return False
        if stamp is None:
            return True
        try:
            return self.status(id_) != "done"
        except DamagedRecordError:
            return True

    def status(self, id_: str) -> Status | None:
        """Return the status of run `id_`, None where there is no record."""
        record = self._read(self.path(id_))
        return None if record is None else record.outcome.status

    def load(self, prefix: str) -> RunRecord:
        """Return the one record whose id starts with `prefix`."""
        id_ = self._complete(prefix.lower())
        record = self._read(self.path(id_))
        if record is None:
            raise UserError(f"run {id_} disappeared from {self._runs} while it was read")
        return record

    def records(self, ids: Iterable[str] | None = None, on_damage: OnDamage | None = None) -> Iterator[RunRecord]:
        """Yield the stored records in the order of their ids; with `ids` only those among them."""
        for path in map(self.path, self._ids(on_damage) if ids is None else sorted(set(ids))):
            try:
                record = self._read(path)
            except DamagedRecordError as damage:
                _report(damage, on_damage)
                continue
            if record is not None:
                yield record

    def histories(
        self, ids: Iterable[str], on_damage: OnDamage | None = None
    ) -> Iterator[tuple[str, Mapping[str, list[Any]]]]:
        """Yield what runs keep of their steps, in the order of their ids; `columns` must have found them whole."""
        for id_ in sorted(set(ids)):
            path = self.path(id_)
            try:
                content = read_regular(path)
                found = None if content is None else history_of(content)
                if found is not None and found[0] != id_:
                    raise ValueError(f"it holds run {found[0]}")
            except (DamagedRecordError, ValueError) as error:
                damage = error if isinstance(error, DamagedRecordError) else DamagedRecordError(path, str(error))
                _report(damage, on_damage)
                continue
            if found is not None:
                yield found

    def columns(self, ids: Iterable[str] | None, index: str, on_damage: OnDamage | None = None) -> RunColumns:
        """Return what tables need of the stored records, in the order of their ids; `index` saves reading them."""
        from mobench.store.index import read_columns

        # A manifest's ids are in order; they would not be after they were in a set, and sorting them takes long.
        chosen = self._ids(on_damage) if ids is None else sorted(dict.fromkeys(ids))
        file = self.root / "index" / f"{index}.parquet"
        return read_columns(file, self._runs, chosen, lambda missing: self.records(missing, on_damage))

    def pending(
        self, specs: Iterable[RunSpec], retry_failed: bool = False, on_damage: OnDamage | None = None
    ) -> list[RunSpec]:
        """Return the specs that are still to run, each once; failed ones too if `retry_failed`.

        A run whose record is damaged is to run again; the damaged file is kept beside the new one.
        """
        todo = []
        for id_, spec in {spec.id: spec for spec in specs}.items():
            try:
                status = self.status(id_)
            except DamagedRecordError as damage:
                _report(damage, on_damage)
                status = None
            if status is None or (status == "failed" and retry_failed):
                todo.append(spec)
        return todo

    def save(self, record: RunRecord) -> None:
        """Write a record atomically: a reader sees all of it, or what was there before."""
        path = self.path(record.id)
        try:
            self._read(path)
        except DamagedRecordError:
            self.set_aside(path)
        sync = (record.outcome.timings.get("seconds") or 0.0) > SYNC_AFTER_SECONDS
        write_atomically(path, record.encode(), sync=sync)

    def save_once(self, record: RunRecord, replaces: Stamp | None) -> bool:
        """Write a record unless another process has stored one since the run's record had the stamp `replaces`.

        Of several processes that try, exactly one succeeds; the others' results are dropped.
        """
        path, content = self.path(record.id), record.encode()
        sync = (record.outcome.timings.get("seconds") or 0.0) > SYNC_AFTER_SECONDS
        if replaces is None:
            return write_once(path, content, sync=sync)
        old = path.with_name(f".{record.id}.{process_name()}.{secrets.token_hex(4)}{TEMPORARY}")
        try:
            path.rename(old)
        except FileNotFoundError:
            return False
        if _stamp(old) != replaces:  # a newer one: it goes back, unless there is an even newer one
            rename_once(old, path)
            return False
        try:
            self._read(old, record.id)
        except DamagedRecordError:
            self.set_aside(old, record.id)
        else:
            old.unlink()
        return write_once(path, content, sync=sync)

    def set_aside(self, path: Path, name: str | None = None) -> None:
        """Rename what is no record, so that it is kept but never read again."""
        path.rename(path.with_name(f"{name or path.stem}.{time.time_ns()}{DAMAGED}"))

    def run_files(self) -> Iterator[Path]:
        """Yield whatever lies where records do, in order, but what was set aside and what is being written."""
        for entry in _listing(self._runs):
            files = _listing(entry) if entry.is_dir() else [entry]
            yield from (file for file in files if file.suffix != DAMAGED)

    def add_manifest(
        self, suite: Suite, ids: Iterable[str], base: Suite | None = None, plugins: Iterable[str] = ()
    ) -> None:
        """Add runs planned with `plugins` under `suite`, which is `base` with overrides; None where there are none."""
        add_runs(self._manifests, suite, ids, base or suite, plugins)

    def manifests(self) -> list[SuiteManifest]:
        """Return the manifests of all suites and profiles."""
        return read_all(self._manifests)

    def find_manifests(self, suites: Iterable[str] | None = None, profile: str | None = None) -> list[SuiteManifest]:
        """Return the manifests of the given suites and profile; a name that was never planned here is refused."""
        found = self.manifests()
        if suites is not None:
            for suite in suites:
                if suite not in {entry.suite for entry in found}:
                    raise unknown(f"suite in {self.root}:", suite, {entry.suite for entry in found})
            found = [entry for entry in found if entry.suite in set(suites)]
        if profile is not None:
            profiles = {entry.profile for entry in found}
            if profile not in profiles:
                raise unknown(f"profile in {self.root}:", profile, profiles)
            found = [entry for entry in found if entry.profile == profile]
        return found

    def check_writable(self) -> None:
        """Raise `StorageError` unless a file can be written here."""
        probe = self.root / f".{process_name()}{TEMPORARY}"
        try:
            probe.write_bytes(bytes(PROBE_BYTES))
        except OSError as error:
            raise StorageError.of(self.root, error) from error
        finally:
            with suppress(OSError):
                probe.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Delete what killed processes left behind: their unfinished files, checkpoints of finished runs."""
        checkpoints = self.root / "checkpoints"
        lease.sweep(self.root, self.has)
        driver_status.sweep(self.root)
        remove_stale(self.root.glob(f".*{TEMPORARY}"))
        for name in ("index", "status"):
            remove_stale((self.root / name).glob(f".*{TEMPORARY}"))
        remove_stale(self._runs.glob(f"*/.*{TEMPORARY}"))
        remove_stale((self.root / "artifacts").glob(f"*/.*{TEMPORARY}"))
        remove_stale(self._manifests.glob(f".*{TEMPORARY}"))
        remove_stale((self.root / "leases").glob(f".*{TEMPORARY}"))
        remove_stale((self.root / "status").glob(f".*{TEMPORARY}"))
        remove_stale(checkpoints.glob("*.part"))
        remove_stale(checkpoints.glob(f".*{TEMPORARY}"))
        finished = self.records(ids=[file.stem for file in checkpoints.glob("*.pt")], on_damage=lambda damage: None)
        for record in finished:
            if record.outcome.status == "done":
                self.checkpoint(record.id).unlink(missing_ok=True)

    def _ids(self, on_damage: OnDamage | None) -> list[str]:
        """Return the ids of all records."""
        return sorted(path.stem for path in self._files(on_damage))

    def _read(self, path: Path, id_: str | None = None) -> RunRecord | None:
        content = read_regular(path)
        if content is None:
            return None
        try:
            record = RunRecord.decode(content)
        except NewerSchemaError as error:
            raise UserError(f"{path} cannot be read: {error}; install that one to go on") from error
        except ValueError as error:
            raise DamagedRecordError(path, str(error)) from error
        if record.id != (id_ or path.stem):
            raise DamagedRecordError(path, f"it holds run {record.id}")
        return record

    def _files(self, on_damage: OnDamage | None) -> Iterator[Path]:
        """Yield the records' files; hidden files and damaged ones set aside are passed over."""
        for file in self.run_files():
            if file.suffix == ".json" and _ID.fullmatch(file.stem) and file.stem[:2] == file.parent.name:
                yield file
            else:
                _report(DamagedRecordError(file, "a foreign file"), on_damage)

    def _complete(self, prefix: str) -> str:
        """Return the one stored id that starts with `prefix`."""
        if _ID.fullmatch(prefix) and self.has(prefix):
            return prefix
        ids = sorted(file.stem for folder in _listing(self._runs) for file in folder.glob("*.json"))
        found = [id_ for id_ in ids if id_.startswith(prefix)]
        if prefix and len(found) == 1:
            return found[0]
        if prefix and found:
            listing = ", ".join(id_[:_SHOWN] for id_ in found[:5])
            raise UserError(f"run '{prefix}' is ambiguous: {len(found)} ids start with it: {listing}")
        short = {id_[: max(len(prefix), 4)]: id_ for id_ in ids}
        nearest = difflib.get_close_matches(prefix, short, n=1, cutoff=0.5)
        hint = f" Did you mean '{short[nearest[0]][:_SHOWN]}'?" if nearest else ""
        raise UserError(
            f"unknown run '{prefix}'.{hint} Accepted: the start of the id of one of {len(ids)} runs in {self._runs}"
        )


def read_regular(path: Path) -> bytes | None:
    """Return the content of a file, None where there is none; anything but a file is damage."""
    try:
        # A pipe would make a plain open wait for ever.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise DamagedRecordError(path, "it is not a file")
            return file.read()
    except FileNotFoundError:
        return None
    except (IsADirectoryError, NotADirectoryError):
        raise DamagedRecordError(path, "it is not a file") from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):  # a link to itself, a socket
            raise DamagedRecordError(path, "it is not a file") from None
        raise UserError(f"{path} cannot be read: {error.strerror}") from error


def _stamp(path: Path) -> Stamp | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


def _report(damage: DamagedRecordError, on_damage: OnDamage | None) -> None:
    if on_damage is None:
        raise damage
    on_damage(damage)


def _listing(folder: Path) -> list[Path]:
    """Return the visible entries of a folder in order, none where there is no folder."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
