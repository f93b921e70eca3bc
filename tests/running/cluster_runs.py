"""Real runs for executors on clusters, one of which gets stuck until somebody takes its process away."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from mobench.core.outcome import Outcome
from mobench.core.registry import find_method, find_problem
from mobench.core.spec import RunSpec
from mobench.store.folder import Store
from mobench.training import loop
from mobench.training.optimizer import Training
from mobench.training.step_reports import tell
from mobench.training.stopping import Stopped, request_stop, stop_requested
from tests.running import trainers

PATIENCE = 300.0
"""Seconds after which something will never happen, also on a busy machine."""
STUCK = "MOBENCH_TEST_STUCK"
"""The file in which a run that is stuck writes the processes above it."""
WAITING = "MOBENCH_TEST_WAITING"
"""The file in which a run that waits to be asked to stop writes the processes above it and its Slurm job."""


def networks(count: int) -> list[RunSpec]:
    """Return runs of a small network, which train alone."""
    training = Training(optimizer="adam", lr=0.01, steps=12).configuration()
    problem, method = find_problem("compression")(), find_method("pcd")()
    return [RunSpec.of(problem, method, training, seed, {}) for seed in range(count)]


def lockstep(count: int) -> list[RunSpec]:
    """Return runs that train as one group."""
    training = Training(optimizer="sgd", lr=0.05, steps=20).configuration()
    problem, method = find_problem("double-well")(k=3, dimension=10), find_method("mgda")()
    return [RunSpec.of(problem, method, training, seed, {}) for seed in range(count)]


def train(group: Sequence[RunSpec], checkpoint: Path | None = None) -> Sequence[Outcome]:
    """Train; networks with seed 0 and 1 do not end unless they go on from their saved state.

    The first saves its state and gets stuck, the second begins only when it is asked to stop.
    """
    if group[0].problem == "toy@1":
        return trainers.train(group, checkpoint)
    assert checkpoint is not None
    file = os.environ.get(STUCK)
    if file and group[0].seed == 0 and len(group) == 1 and not checkpoint.exists():
        _save_after_one_step(group, checkpoint)
        tell(1, group[0].run_training["steps"], 0, 1.0)  # the loop does so after half a second
        _write_place(file)
        time.sleep(1000)
    file = os.environ.get(WAITING)
    if file and group[0].seed == 1 and len(group) == 1 and not checkpoint.exists():
        _write_place(file)
        while not stop_requested():
            time.sleep(0.02)
    return loop.train(group, checkpoint)


def _save_after_one_step(group: Sequence[RunSpec], checkpoint: Path) -> None:
    request_stop()
    try:
        loop.train(group, checkpoint)
    except Stopped:
        request_stop(False)


def _write_place(file: str) -> None:
    above = [str(process.pid) for process in (psutil.Process(), *psutil.Process().parents())]
    partial = Path(f"{file}.{os.getpid()}")
    partial.write_text(" ".join([os.environ.get("SLURM_JOB_ID", "-"), *above]))
    partial.rename(file)


def place(file: Path) -> tuple[str, list[int]]:
    """Return the Slurm job of a run that wrote where it is, and its process with those above it."""
    job, *processes = file.read_text().split()
    return job, list(map(int, processes))


def numbers(store: Store) -> dict[str, Any]:
    """Return what two executors must agree about to the last bit."""
    return {
        record.id: (
            record.outcome.status,
            record.outcome.metrics,
            record.outcome.history,
            record.outcome.diagnostics,
            record.outcome.backward_passes,
        )
        for record in store.records()
    }


@contextmanager
def patience(seconds: float = PATIENCE) -> Iterator[None]:
    """Stop an execution that does not end, as a user would, so that a test fails instead of hanging."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def wait_until(happened: Callable[[], bool], patience: float = PATIENCE) -> None:
    """Wait for something that other processes do."""
    end = time.monotonic() + patience
    while not happened():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)
