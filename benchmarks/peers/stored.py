"""A folder of many stored runs, and the runner's own cost: processor seconds and memory of commands as users type them.

The runs are those of `site`: real record files with made-up numbers. What is measured is the second call of
`mobench results`, which finds the index that the first one wrote. Processor time is used, because a busy machine
stretches the clock. The runner's cost is what a thousand runs of a single step take in this process, records included,
beyond what their training takes by itself.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from benchmarks.peers.row import Asked, Row
from benchmarks.peers.site import SUITE, Used, make_results, measured, templates
from mobench.core.registry import find_method, find_problem
from mobench.core.spec import RunSpec
from mobench.running.executor import execute
from mobench.store.folder import Store
from mobench.training.loop import train
from mobench.training.optimizer import Training

PART = "stored"
COMMAND = "make peers only=stored"
LIMITS = {100_000: (Asked("≤", 3.0), Asked("≤", 500.0))}
"""Processor seconds and megabytes, by the number of runs."""
TRIVIAL = 1_000
OVERHEAD = Asked("≤", 5.0)


@dataclass(frozen=True)
class Size:
    """The numbers of stored runs."""

    runs: tuple[int, ...]


SIZES = {"quick": Size((1_000,)), "default": Size((10_000,)), "all": Size((10_000, 100_000))}


def rows(size: Size) -> Iterator[Row]:
    """Yield what tables of many runs cost, and what the runner adds to a run."""
    with tempfile.TemporaryDirectory(prefix="mobench-peers-") as folder:
        place = Path(folder)
        known = templates(place / "templates")
        for wanted in size.runs:
            runs = make_results(place / str(wanted), wanted, known)
            read(place / str(wanted))
            used = read(place / str(wanted))
            time_limit, memory_limit = LIMITS.get(wanted, (None, None))
            words = f"mobench results of {runs:,} runs"
            yield Row(PART, f"{words}, processor time", used.processor_seconds, "s", COMMAND, time_limit)
            yield Row(PART, f"{words}, peak memory", used.megabytes, "MB", COMMAND, memory_limit)
        cost = 1000 * overhead(place / "trivial")
        yield Row(PART, f"runner, each of {TRIVIAL:,} runs of one step", cost, "ms", COMMAND, OVERHEAD)


def read(results: Path) -> Used:
    """Return what `mobench results` takes."""
    return measured("results", f"suite={SUITE}", f"results={results}")


def overhead(folder: Path) -> float:
    """Return the seconds that a run of one step, a job of its own as are a thousand others, takes beyond its training.

    Both are measured with one thread, after a first run that loads what the first run loads.
    """
    problem, training = find_problem("two-wells")(), Training(steps=1, lr=0.01).configuration()
    first, *specs = [RunSpec.of(problem, find_method("ws")(), training, seed) for seed in range(TRIVIAL + 1)]
    execute([[first]], Store(folder), jobs=0)
    began = time.process_time()
    tally = execute([[spec] for spec in specs], Store(folder), jobs=0)
    whole = time.process_time() - began
    assert tally.done == TRIVIAL
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    began = time.process_time()
    for spec in specs:
        train([spec])
    alone = time.process_time() - began
    torch.set_num_threads(threads)
    return (whole - alone) / TRIVIAL
