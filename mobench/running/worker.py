"""Train one group of runs and write its records; the same code in a worker process and in ours."""

from __future__ import annotations

import importlib
import os
import platform
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from mobench.core.outcome import Outcome
from mobench.core.plain_text import first_said_by, said_by
from mobench.core.registry import file_digest
from mobench.core.resources import resources
from mobench.core.spec import RunSpec
from mobench.errors import StorageError
from mobench.running.environment import on_device
from mobench.running.job import Broken, Halted, Job, Lost, OnSteps, Result, Steps, Summary, Train
from mobench.running.memory import MemoryMeter
from mobench.store.folder import Store
from mobench.store.record import PeakMemory, RunRecord, SharedProcess, settled
from mobench.training.step_reports import Listener, listening
from mobench.training.stopping import Stopped, is_device_fault, ran_out_of_memory

_trained: set[str] = set()
"""The methods that this process has trained."""
_sources: set[str] = set()
"""sha256 of the foreign files that this process has loaded."""


def perform(
    job: Job,
    passed_on: tuple[type[BaseException], ...] = (),
    on_steps: OnSteps = lambda steps: None,
) -> Result:
    """Train the job's groups one after the other and save their records.

    If training raises, a group of one run becomes a failed record; one of several is lost, and what the job has not
    done then is to be tried in smaller parts. Exceptions of the types `passed_on` are not about the runs and go to
    the caller. A run that another driver has taken over is not stored and has no summary. `on_steps` gets reports of
    how far the job is.
    """
    summaries: list[Summary] = []
    for index, specs in enumerate(job.groups):
        result = _train_group(job, specs, passed_on, _reporter(on_steps, index, len(job.groups)))
        if isinstance(result, Lost):
            return replace(result, further=result.further or bool(summaries))
        if not isinstance(result, list):
            return result
        summaries += result
    return summaries


def _train_group(
    job: Job, specs: Sequence[RunSpec], passed_on: tuple[type[BaseException], ...], report: Listener
) -> Result:
    store = Store(job.root)
    checkpoint = store.checkpoint(specs[0].id)
    saved, started, clock = store.checkpoint_stamp(specs[0].id), utc_now(), time.perf_counter()
    shared = _take_note(job, specs)
    meter = MemoryMeter()
    train, process = _resolve(job.train), os.getpid()
    try:
        with meter, listening(report):
            outcomes = train(specs, checkpoint)
    except passed_on:
        raise
    except Stopped:
        return Halted()
    except StorageError as error:
        return Broken(str(error))
    except BaseException as error:  # noqa: BLE001 - whatever a plugin raises costs its own runs alone
        trace = "".join(traceback.format_exception(error))
        if ran_out_of_memory(error):
            return Lost(f"out of memory: {first_said_by(error)}", trace, cause="memory")
        if is_device_fault(error):
            further = store.checkpoint_stamp(specs[0].id) != saved
            return Lost(first_said_by(error), trace, cause="device", further=further)
        if len(specs) > 1:
            return Lost(said_by(error), trace)
        outcomes = [Outcome.failure(trace, time.perf_counter() - clock)]
    if os.getpid() != process:
        os._exit(0)  # a method has forked, and its child came this far: the runs are the parent's
    finished = utc_now()
    memory = meter.peak(len(specs))
    tf32 = str(specs[0].run_training.get("tf32", "auto"))
    environment = on_device(job.environment, _device_used(memory), job.jobs_per_gpu, tf32)
    records = [
        (RunRecord(spec, settled(trained), memory, environment, started, finished, shared), trained)
        for spec, trained in zip(specs, outcomes, strict=True)
    ]
    try:
        kept = [keep(job, store, record, partial(_save_tensors, store, record, trained)) for record, trained in records]
        summaries = [summary for summary in kept if summary is not None]
        if summaries:
            checkpoint.unlink(missing_ok=True)
    except OSError as error:
        return Broken(str(StorageError.of(job.root, error)))
    return summaries


def utc_now() -> str:
    """Return the time in ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _reporter(on_steps: OnSteps, index: int, groups: int) -> Listener:
    """Return what passes the loop's reports on, but not from a child that a method has forked.

    Every group counts as the same part of its job: a job of several takes seconds.
    """
    host, process = platform.node(), os.getpid()

    def report(step: int, total: int, first: int, seconds: float) -> None:
        if os.getpid() == process:
            on_steps(Steps(index * total + step, groups * total, index * total + first, seconds, host))

    return report


def keep(job: Job, store: Store, record: RunRecord, save_artifact: Callable[[], None]) -> Summary | None:
    """Save a run, its tensors before its record, so that a record finds them; None if it is another driver's now."""
    if not store.root.is_dir():
        raise FileNotFoundError(None, "the folder was deleted under way")
    if job.fence is not None and not job.fence.holds(record.id):
        return None
    save_artifact()
    if not store.save_once(record, job.stamps.get(record.id)):
        return None
    return Summary(record.id, record.outcome.status, record.outcome.reason)


def _save_tensors(store: Store, record: RunRecord, trained: Outcome) -> None:
    if trained.artifact and record.outcome.status == "done":
        store.save_artifact(record.id, trained.artifact)


def _take_note(job: Job, specs: Sequence[RunSpec]) -> SharedProcess:
    """Remember what this process trains, and return what a group's runs share it with."""
    before = tuple(sorted(_trained))
    methods = sorted({spec.method for spec in specs})
    _trained.update(methods)
    _sources.update(digest for spec in specs for digest in spec.sources.values())
    _sources.update(map(file_digest, map(Path, job.plugins)))
    beside = tuple(methods) if len(specs) > 1 else ()
    return SharedProcess(beside, before, tuple(sorted(_sources)))


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
