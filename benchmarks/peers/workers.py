"""Two workers beside one: how many times faster the same runs of the digits network are done on two cores.

The runs are planned, divided and stored as `mobench run` does. What both begin with, starting a worker process, counts.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.peers.row import Asked, Ratio, Row, interleaved
from mobench.planning.plan import make_groups, make_plan
from mobench.planning.suite import load_suite
from mobench.running.executor import execute
from mobench.store.folder import Store

PART = "workers"
COMMAND = "make peers only=workers"
FASTER = Asked("≥", 1.7)


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    rounds: int
    seeds: int
    epochs: int


SIZES = {"quick": Size(1, 2, 4), "default": Size(3, 5, 20), "all": Size(5, 5, 20)}


def rows(size: Size) -> Iterator[Row]:
    """Yield how many times longer one worker takes than two."""
    overrides = {"methods": ["pcd", "mgda", "ws"], "seeds": size.seeds, "training.epochs": size.epochs}
    specs = make_plan(load_suite("compression", "digits"), overrides).specs

    def run(jobs: int) -> None:
        with tempfile.TemporaryDirectory(prefix="mobench-peers-") as folder:
            tally = execute(make_groups(specs, jobs), Store(Path(folder)), jobs=jobs)
            assert tally.done == len(specs)

    seconds = interleaved({"one": lambda: run(1), "two": lambda: run(2)}, size.rounds)
    what = f"two workers, {len(specs)} runs on digits: {median(seconds['two']):.1f} s"
    yield Ratio.of(seconds["one"], seconds["two"]).row(PART, what, COMMAND, FASTER)
