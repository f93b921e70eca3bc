"""A results folder of a thousand records."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from mobench.core.outcome import Outcome
from mobench.scoring.runs import results_table
from mobench.store.folder import Store
from mobench.store.record import Environment, PeakMemory, RunRecord

from . import Kernel, built_once
from .runner import tiny_plan

COUNT = 1000
SAMPLES = 50
"""Points of a record's curves."""


@cache
def records(count: int = COUNT) -> tuple[RunRecord, ...]:
    """Return records as a suite on small problems leaves them."""
    runs = tiny_plan(1).specs
    specs = tiny_plan(-(-count // len(runs))).specs[:count]
    curve = [float(i) for i in range(SAMPLES)]
    environment = Environment({"python": "3.11", "torch": "2.6"}, {"cpu": "one", "cores": 1}, None)
    memory = PeakMemory(2**28, 2**27, "training", 96)
    outcome = Outcome(
        "done",
        metrics={"loss/wells": 0.5, "loss/pull": 0.25, "primary_gradient_norm": 1e-3},
        history={"step": list(range(SAMPLES)), "loss/wells": curve, "loss/pull": curve},
        diagnostics={"active": {"mean": 0.5, "total": 250.0}, "deviation": {"mean": 0.1, "total": 50.0}},
        timings={"seconds": 0.1, "seconds_per_step": 2e-4},
        backward_passes=500,
    )
    moment = "2026-01-01T00:00:00+00:00"
    return tuple(RunRecord(spec, outcome, memory, environment, moment, moment) for spec in specs)


@cache
def filled(folder: Path) -> Store:
    """Return a store that holds all the records."""
    store = Store(folder / "store")
    _save(store)
    return store


@built_once
def save(folder: Path) -> Kernel:
    """Write every record over itself."""
    store = filled(folder)
    return lambda: _save(store)


@built_once
def load(folder: Path) -> Kernel:
    """Read every record."""
    store = filled(folder)
    return lambda: sum(1 for _ in store.records())


@built_once
def tabulate(folder: Path) -> Kernel:
    """Make the results table of every record, already read."""
    read = list(filled(folder).records())
    return lambda: results_table(read)


def bytes_per_record(folder: Path) -> float:
    """Return the mean size of a record's file."""
    store = filled(folder)
    return sum(store.path(record.id).stat().st_size for record in records()) / len(records())


def _save(store: Store) -> None:
    for record in records():
        store.save(record)
