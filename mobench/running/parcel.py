"""What travels to a machine that shares no files with ours, and what comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from shutil import rmtree

from mobench.errors import StorageError
from mobench.running.job import Broken, Job, Result, Steps, Summary
from mobench.running.worker import keep
from mobench.store.folder import Stamp, Store, read_regular
from mobench.store.record import RunRecord

PluginFile = tuple[str, bytes]
"""The name of a plugin's file, and its content."""


@dataclass(frozen=True)
class Parcel:
    """A job with the files that it needs."""

    job: Job
    plugins: tuple[PluginFile, ...]
    checkpoint: bytes | None

    @classmethod
    def of(cls, job: Job) -> Parcel:
        """Pack a job of this machine."""
        checkpoint = read_regular(Store(job.root).checkpoint(job.specs[0].id))
        return cls(replace(job, plugins=(), fence=None, stamps={}), pack_plugins(job), checkpoint)


@dataclass(frozen=True)
class Delivery:
    """What an agent has for us since the last time."""

    result: Result | None
    """None while the job goes on."""
    records: tuple[tuple[bytes, bytes | None], ...] = ()
    """The records of finished runs, each with its tensors, as files of the agent's store."""
    checkpoint: bytes | None = None
    """The state of the job, where it was saved since."""
    steps: Steps | None = None
    """How far the job is."""


class Outpost:
    """A results folder on another machine, whose files are sent home."""

    def __init__(self, root: Path) -> None:
        self._store = Store(root)
        self._sent: Stamp | None = None
        self._checkpoint = Path()
        self._ids: list[str] = []

    def unpack(self, parcel: Parcel) -> Job:
        """Return the job as one that reads and writes this folder."""
        first = parcel.job.specs[0].id
        self._checkpoint, self._sent = self._store.checkpoint(first), None
        self._ids = [spec.id for spec in parcel.job.specs]
        self._store.root.mkdir(parents=True, exist_ok=True)
        if parcel.checkpoint is not None:
            self._store.receive_checkpoint(first, parcel.checkpoint)
            self._sent = self._stamp()
        return replace(parcel.job, root=self._store.root)

    def deliver(self, result: Result | None, steps: Steps | None) -> Delivery:
        """Return what is new; with a result, nothing is kept here."""
        checkpoint, stamp = None, self._stamp()
        if stamp is not None and stamp != self._sent:
            checkpoint, self._sent = read_regular(self._checkpoint), stamp
        if result is None:
            return Delivery(None, checkpoint=checkpoint, steps=steps)
        ids = filter(self._store.has, self._ids)  # of a job that was lost or halted, what it did before
        records = tuple((self._store.path(id_).read_bytes(), read_regular(self._store.artifact(id_))) for id_ in ids)
        rmtree(self._store.root)
        return Delivery(result, records, checkpoint, steps)

    def _stamp(self) -> Stamp | None:
        try:
            status = self._checkpoint.stat()
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns


def receive(job: Job, delivery: Delivery) -> Result | None:
    """Store what was delivered for a job of ours, unless it is another driver's now; return what came of the job."""
    store, first = Store(job.root), job.specs[0].id
    try:
        if delivery.checkpoint is not None and (job.fence is None or job.fence.holds(first)):
            store.receive_checkpoint(first, delivery.checkpoint)
        kept = [_keep(job, store, RunRecord.decode(record), tensors) for record, tensors in delivery.records]
        summaries = [summary for summary in kept if summary is not None]
        if any(summary.id == first for summary in summaries):
            store.checkpoint(first).unlink(missing_ok=True)
        return summaries if isinstance(delivery.result, list) else delivery.result
    except OSError as error:
        return Broken(str(StorageError.of(job.root, error)))


def _keep(job: Job, store: Store, record: RunRecord, tensors: bytes | None) -> Summary | None:
    return keep(job, store, record, partial(_save, store, record.id, tensors))


def _save(store: Store, id_: str, tensors: bytes | None) -> None:
    if tensors is not None:
        store.receive_artifact(id_, tensors)


def pack_plugins(job: Job) -> tuple[PluginFile, ...]:
    """Return the plugins of a job by their content."""
    return tuple((Path(file).name, Path(file).read_bytes()) for file in job.plugins)


def unpack_plugins(plugins: Sequence[PluginFile], folder: Path) -> tuple[str, ...]:
    """Write plugins to files, each in a folder of its own, and return where they are."""
    files = []
    for name, content in plugins:
        file = folder / sha256(content).hexdigest()[:16] / name
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        files.append(str(file))
    return tuple(files)
