"""Train one group of runs and write its records; the same code in a worker process and in ours."""

from __future__ import annotations

import faulthandler
import fcntl
import importlib
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing import connection, parent_process
from pathlib import Path
from typing import TextIO

import threadpoolctl  # type: ignore[import-untyped]

from mobench.core.outcome import Outcome, Status
from mobench.core.registry import load_plugins, methods, problems
from mobench.core.resources import resources
from mobench.core.spec import RunSpec
from mobench.running.environment import on_device
from mobench.running.memory import MemoryMeter
from mobench.store.folder import Stamp, Store
from mobench.store.lease import Fence
from mobench.store.record import Environment, PeakMemory, RunRecord, settled

Train = Callable[[Sequence[RunSpec], Path | None], Sequence[Outcome | None]]
"""Trains runs in lockstep; None stands for one that left because the others would have waited for it."""


@dataclass(frozen=True)
class Job:
    """A group of runs to train in lockstep."""

    specs: tuple[RunSpec, ...]
    root: Path
    train: Train | str
    """The training function, or where it is: `package.module:function`."""
    environment: Environment
    stamps: Mapping[str, Stamp | None] = field(default_factory=dict)
    """The records that the runs had when they were planned, by id."""
    fence: Fence | None = None
    """Says whether the driver still has a run; without one nobody else is at work."""


@dataclass(frozen=True)
class Summary:
    """What the scheduling process wants to know about a finished run."""

    id: str
    status: Status
    reason: str


@dataclass(frozen=True)
class Lost:
    """A job that ended without records for all of its runs."""

    reason: str
    trace: str = ""
    resumable: bool = False
    """Whether a checkpoint is worth keeping: it was merely too slow."""
    signal: int | None = None
    """The signal that killed the process, if one did."""

    @property
    def error(self) -> str:
        """Everything known, and like in a traceback the point comes last."""
        return f"{self.trace.rstrip()}\n{self.reason}" if self.trace.strip() else self.reason


def perform(
    job: Job, guard: AbstractContextManager[None], passed_on: tuple[type[BaseException], ...] = ()
) -> list[Summary] | Lost:
    """Train the job's runs under `guard` and save their records.

    Only a run that trains alone has a checkpoint. If training raises, a single run becomes a failed
    record, and a job of several is lost: each of its runs is to be tried by itself. Exceptions of
    the types `passed_on` are not about the runs and go to the caller. A run that another driver has
    taken over, and one that left its group, is not stored and has no summary.
    """
    store = Store(job.root)
    checkpoint = store.checkpoint(job.specs[0].id) if len(job.specs) == 1 else None
    train = _resolve(job.train)
    started, clock = utc_now(), time.perf_counter()
    meter = MemoryMeter()
    try:
        with meter, guard:
            outcomes = list(train(job.specs, checkpoint))
    except passed_on:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever a plugin raises costs its own runs alone
        trace = "".join(traceback.format_exception(error))
        if len(job.specs) > 1:
            return Lost(traceback.format_exception_only(error)[-1].strip(), trace)
        outcomes = [Outcome.failure(trace, time.perf_counter() - clock)]
    finished = utc_now()
    memory = meter.peak(len(job.specs))
    environment = on_device(job.environment, _device_used(memory))
    summaries = []
    for spec, trained in zip(job.specs, outcomes, strict=True):
        if trained is None:
            continue
        outcome = settled(trained)
        if job.fence is not None and not job.fence.holds(spec.id):
            continue
        if trained.artifact and outcome.status == "done":
            store.save_artifact(spec.id, trained.artifact)
        record = RunRecord(spec, outcome, memory, environment, started, finished)
        if store.save_once(record, job.stamps.get(spec.id)):
            summaries.append(Summary(spec.id, outcome.status, outcome.reason))
    if summaries and checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
    return summaries


def perform_in_worker(job: Job, trace: Path) -> list[Summary] | Lost:
    """Do a job in a worker process; if the process dies, `trace` says how."""
    _leave_traces(trace)
    return perform(job, nullcontext())


def start_worker(plugins: Sequence[str], variables: Mapping[str, str]) -> None:
    """Set up a fresh worker process with the given environment variables."""
    import torch

    os.environ.update(variables)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Ctrl-C is the scheduling process's business
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    threading.Thread(target=_die_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    threadpoolctl.threadpool_limits(1)
    load_plugins(plugins)
    # What the first run would load otherwise, at the cost of its time limit and its memory figure.
    methods()
    problems()


def utc_now() -> str:
    """Return the time in ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


_trace_file: TextIO | None = None


def _leave_traces(path: Path) -> None:
    """Write this process's id to `path`, and Python's stack when a fatal signal arrives.

    The file stays locked until the next job or the end of the process, whatever ends it; a free
    lock tells the scheduling process that the worker is gone.
    """
    global _trace_file
    file = path.open("w", encoding="utf-8")
    fcntl.flock(file, fcntl.LOCK_EX)
    file.write(f"{os.getpid()}\n")
    file.flush()
    faulthandler.enable(file)
    faulthandler.register(signal.SIGTERM, file, chain=True)
    if _trace_file is not None:
        _trace_file.close()
    _trace_file = file


def _die_with_parent() -> None:
    """End this process when the scheduling process is gone, e.g. after `kill -9`."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _device_used(memory: PeakMemory) -> str:
    """Name the device that did the work: a problem may stay on the CPU although there is a GPU."""
    chosen = resources().torch_device
    return "cpu" if chosen.startswith("cuda") and memory.device_bytes is None else chosen


def _resolve(train: Train | str) -> Train:
    if not isinstance(train, str):
        return train
    module, _, name = train.partition(":")
    resolved: Train = getattr(importlib.import_module(module), name)
    return resolved
