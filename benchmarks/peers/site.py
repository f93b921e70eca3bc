"""How long the leaderboard takes to build, how much memory, whether that is linear, and how large its front page is.

The runs are made up for this measurement: real specs of the suite `escape` with many seeds, and
outcomes that are one real run's, moved by noise. They lie in a temporary folder that is deleted at the
end, and are no results.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.peers.row import Asked, Row
from mobench.cli import main
from mobench.core.spec import RunSpec, hash_of
from mobench.planning.plan import make_plans
from mobench.store.folder import Store
from mobench.store.record import RunRecord, settled

PART = "site"
COMMAND = "make peers only=site"
SUITE = "escape"
LIMITS = {10_000: (Asked("≤", 30.0), Asked("≤", 1000.0)), 100_000: (Asked("≤", 120.0), Asked("≤", 1000.0))}
"""Seconds and megabytes, by the number of runs."""
LINEAR = Asked("≤", 1.5)
"""Processor time of each further run beyond the second number of runs, beside that of each before it."""
FRONT_PAGE = Asked("≤", 300.0)
BUILD = """
import sys
from mobench.cli import main
from mobench.running.memory import MemoryMeter
with MemoryMeter() as meter:
    code = main(sys.argv[1:])
print(meter.peak(1).resident_bytes, file=sys.stderr)
sys.exit(code)
"""


@dataclass(frozen=True)
class Size:
    """The numbers of runs, and what they are runs of: the whole suite, unless a profile or methods are named."""

    runs: tuple[int, ...]
    profile: str | None = None
    methods: tuple[str, ...] = ()


SIZES = {"quick": Size((1_000,)), "default": Size((1_000, 10_000)), "all": Size((1_000, 10_000, 100_000))}


def rows(size: Size) -> Iterator[Row]:
    """Yield seconds and megabytes of a build for each number of runs, then the weight of the front page."""
    with tempfile.TemporaryDirectory(prefix="mobench-peers-") as folder:
        place = Path(folder)
        known = templates(place / "templates", size.profile)
        taken: list[tuple[int, float]] = []
        for wanted in size.runs:
            results, out = place / str(wanted), place / f"site-{wanted}"
            runs = make_results(results, wanted, known, size.profile, size.methods)
            used = build(results, out)
            taken.append((runs, used.processor_seconds))
            time_limit, memory_limit = LIMITS.get(wanted, (None, None))
            yield Row(PART, f"building {runs:,} runs", used.seconds, "s", COMMAND, time_limit)
            yield Row(PART, f"building {runs:,} runs, processor time", used.processor_seconds, "s", COMMAND)
            yield Row(PART, f"building {runs:,} runs, peak memory", used.megabytes, "MB", COMMAND, memory_limit)
        if len(taken) > 2:
            before, after = (per_run(*pair) for pair in pairwise(taken[-3:]))
            words = f"each run beyond {taken[-2][0]:,}, and each between {taken[-3][0]:,} and that"
            yield Row(PART, words, after / before, "×", COMMAND, LINEAR)
        yield Row(PART, "front page before images", front_page_kilobytes(out), "kB", COMMAND, FRONT_PAGE)


def front_page_kilobytes(out: Path) -> float:
    """Return the size of the front page with the styles and scripts that it names."""
    page = (out / "index.html").read_text(encoding="utf-8")
    named = re.findall(r'(?:<script src|<link rel="stylesheet" href)="([^"]+)"', page)
    return sum(len((out / name).read_bytes()) for name in ("index.html", *named)) / 1000


def instance_of(spec: RunSpec) -> str:
    return hash_of([spec.problem, spec.problem_settings, spec.training])


def templates(folder: Path, profile: str | None = None) -> dict[str, RunRecord]:
    """Run one configuration once on every problem instance."""
    settings = [f"suite={SUITE}", "methods=ws", "methods.ws.weight=0.5", "seeds=1", f"results={folder}", "jobs=0"]
    settings += [f"profile={profile}"] if profile else []
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["run", *settings, "--quiet"]) == 0
    return {instance_of(record.spec): record for record in Store(folder).records()}


def moved(record: RunRecord, spec: RunSpec, noise: np.random.Generator) -> RunRecord:
    """Return the record as another run's: every metric times a factor near one."""
    factors = noise.lognormal(sigma=0.2, size=len(record.outcome.metrics))
    metrics = {
        name: value * factor for (name, value), factor in zip(record.outcome.metrics.items(), factors, strict=True)
    }
    return replace(record, spec=spec, outcome=settled(replace(record.outcome, metrics=metrics)))


def make_results(
    folder: Path,
    runs: int,
    known: dict[str, RunRecord],
    profile: str | None = None,
    methods: tuple[str, ...] = (),
) -> int:
    """Store so many runs, as near as whole seeds allow, and return their number."""
    chosen = {"methods": list(methods)} if methods else {}
    (single,) = make_plans([SUITE], profile, {**chosen, "seeds": 1})
    (plan,) = make_plans([SUITE], profile, {**chosen, "seeds": max(1, round(runs / len(single.specs)))})
    store, noise = Store(folder), np.random.default_rng(0)
    for spec in plan.specs:
        store.save(moved(known[instance_of(spec)], spec, noise))
    store.add_manifest(plan.suite, [spec.id for spec in plan.specs])
    return len(plan.specs)


@dataclass(frozen=True)
class Used:
    """What a command took, its own processes included."""

    seconds: float
    processor_seconds: float
    megabytes: float
    """Peak resident memory of the command's main process."""


def per_run(fewer: tuple[int, float], more: tuple[int, float]) -> float:
    """Return the seconds that each further run takes, given two numbers of runs with their seconds."""
    return (more[1] - fewer[1]) / (more[0] - fewer[0])


def build(results: Path, out: Path) -> Used:
    """Return what one build takes."""
    return measured("leaderboard", "build", f"results={results}", f"out={out}")


def measured(*arguments: str) -> Used:
    """Run a command of mobench in a process of its own, which may keep what it compiles, as installed programs have."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    line = [sys.executable, "-c", BUILD, *arguments]
    before, started = os.times(), time.perf_counter()
    done = subprocess.run(line, check=True, capture_output=True, text=True, env=variables)
    taken, after = time.perf_counter() - started, os.times()
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return Used(taken, processor, int(done.stderr.split()[-1]) / 1e6)
