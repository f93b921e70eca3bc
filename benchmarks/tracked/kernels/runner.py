"""Planning and running a suite of tiny runs in this process."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from mobench.planning.plan import Plan, make_groups, make_plan
from mobench.planning.suite import load_suite
from mobench.running.executor import execute
from mobench.store.folder import Store
from mobench.training.loop import train

from . import Kernel, built_once

STEPS = 5
METHODS = ("pcd", "mgda", "pcgrad", "cagrad", "auxinash")
"""The methods whose runs of `escape` are timed each by itself."""


def plan(suite: str = "escape") -> Plan:
    """Expand and check every run of a suite at its published size."""
    return make_plan(load_suite(suite, "paper"), {})


@cache
def tiny_plan(seeds: int) -> Plan:
    """Return the runs of all methods on a double well, five steps each."""
    return make_plan(load_suite("escape", "quick"), {"seeds": seeds, "training.steps": STEPS})


@built_once
def train_escape(method: str, k: int) -> Kernel:
    """Train the suite's runs of one method for one K in lockstep, without records."""
    overrides = {"methods": [method], "problems.double-well.k": k, "training.steps": 20 * STEPS}
    group = make_groups(make_plan(load_suite("escape", "quick"), overrides).specs)[0]
    return lambda: train(group)


@built_once
def run_tiny(folder: Path, seeds: int) -> Kernel:
    """Train the runs of `tiny_plan` and store their records over those of the call before."""
    specs, store = tiny_plan(seeds).specs, Store(folder / "runs")

    def run() -> None:
        tally = execute(make_groups(specs), store, jobs=0)
        assert tally.done == len(specs)

    return run
