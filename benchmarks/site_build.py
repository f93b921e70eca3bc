"""How long the leaderboard takes to build, and how much memory, for 1,000, 10,000 and 30,000 runs.

    python benchmarks/site_build.py [RUNS …]

The runs are made up for this measurement: real specs of the suite `escape` with many seeds, and outcomes that are one
real run's, moved by noise. They lie in a temporary folder that is deleted at the end, and are no results.
"""

from __future__ import annotations

import contextlib
import io
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mobench.cli import main
from mobench.plan import make_plans
from mobench.record import RunRecord, settled
from mobench.spec import RunSpec, hash_of
from mobench.store import Store

SUITE = "escape"
SIZES = (1_000, 10_000, 30_000)


def instance_of(spec: RunSpec) -> str:
    return hash_of([spec.problem, spec.problem_settings, spec.training])


def templates(folder: Path) -> dict[str, RunRecord]:
    """Run one configuration once on every problem instance."""
    settings = [f"suite={SUITE}", "methods=ws", "methods.ws.weight=0.5", "seeds=1", f"results={folder}", "jobs=0"]
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


def make_results(folder: Path, runs: int, known: dict[str, RunRecord]) -> int:
    """Store so many runs, as near as whole seeds allow, and return their number."""
    (single,) = make_plans([SUITE], None, {"seeds": 1})
    (plan,) = make_plans([SUITE], None, {"seeds": max(1, round(runs / len(single.specs)))})
    store, noise = Store(folder), np.random.default_rng(0)
    for spec in plan.specs:
        store.save(moved(known[instance_of(spec)], spec, noise))
    store.add_manifest(plan.suite, [spec.id for spec in plan.specs])
    return len(plan.specs)


def build(results: Path, out: Path) -> tuple[float, float]:
    """Return seconds and peak megabytes of one build in a process of its own."""
    script = (
        "import resource, sys; from mobench.cli import main; code = main(sys.argv[1:]);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr); sys.exit(code)"
    )
    command = [sys.executable, "-c", script, "leaderboard", "build", f"results={results}", f"out={out}"]
    started = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    kilobytes: Any = done.stderr.split()[-1]
    return time.perf_counter() - started, int(kilobytes) / (1024 if sys.platform != "darwin" else 1024**2)


def measure(sizes: list[int]) -> None:
    print(f"{'runs':>8} {'seconds':>9} {'CPU s':>8} {'peak MB':>9} {'ms/run':>8}")
    with tempfile.TemporaryDirectory() as place:
        known = templates(Path(place) / "templates")
        for size in sizes:
            runs = make_results(Path(place) / str(size), size, known)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds, megabytes = build(Path(place) / str(size), Path(place) / f"site-{size}")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"{runs:8,} {seconds:9.1f} {busy:8.1f} {megabytes:9.0f} {1e3 * seconds / runs:8.2f}", flush=True)


if __name__ == "__main__":
    measure([int(argument) for argument in sys.argv[1:]] or list(SIZES))
