"""One of several drivers on a results folder: `driver.py NAME ROOT COUNT JOBS LEASE`.

A run writes `NAME SEED begin` and `NAME SEED end` into the file `log` beside the folder.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from mobench.core.outcome import Outcome
from mobench.core.spec import RunSpec
from mobench.running.executor import execute
from mobench.store.folder import Store
from tests.running import trainers


def train(group: Sequence[RunSpec], checkpoint: Path | None = None) -> list[Outcome]:
    name = os.environ["MOBENCH_TEST_DRIVER"]
    for run in group:
        _log(run, f"{name} {run.seed} begin\n")
    time.sleep(0.1)
    for run in group:
        _log(run, f"{name} {run.seed} end\n")
    return [replace(outcome, error=name) for outcome in trainers.train(group, checkpoint)]


def runs(root: Path, count: int) -> list[RunSpec]:
    return trainers.specs(count, log=str(root.parent / "log"))


def _log(run: RunSpec, line: str) -> None:
    with Path(run.method_settings["log"]).open("a") as log:
        log.write(line)


def main(name: str, root: Path, count: int, jobs: int, lease: float) -> None:
    os.environ["MOBENCH_TEST_DRIVER"] = name
    specs = runs(root, count)
    groups = [specs[start : start + 2] for start in range(0, count, 2)]
    tally = execute(groups, Store(root), jobs=jobs, train=train, lease=lease)
    print(f"done={tally.done} failed={tally.failed}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
