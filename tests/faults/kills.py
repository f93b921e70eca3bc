"""Kill drivers and workers of a real run at random instants, until it is finished; `python -m tests.faults.kills`.

The results have to be those of an undisturbed run, bit for bit, and nothing may be left over.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil

from mobench.store.folder import Store
from tests.commands import run_here
from tests.faults.processes import leftovers, living, marked, mobench, wait_until, workers

LONGEST_WAIT = 0.5
"""A kill comes at most so many seconds after something was stored, one of four at most so long after the kill before.

How long a start takes depends on the machine: kills at fixed times may come before anything is stored, for ever.
"""
SUITES = {"escape": ("suite=escape", "seeds=1", "problems.double-well.k=3"), "digits": ("suite=digits.yaml",)}
DIGITS = """
title: A few networks on digits
problems: {two-digits@1: {}}
methods: {pcd: {}, moco: {}, graddrop: {}, famo: {}}
seeds: 2
training: {optimizer: adam, lr: 0.003, epochs: 1}
metrics: [loss/left]
"""


def compared(root: Path) -> dict[str, Any]:
    """Return all of the stored runs that must not depend on what happened meanwhile."""
    found = {}
    for record in Store(root).records():
        outcome = asdict(record.outcome)
        steps = outcome.pop("timings")["steps"]
        found[record.id] = {**outcome, "steps": steps}
    return found


class Killer:
    """Starts drivers on one results folder and kills them, or one of their processes."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.chance = random.Random(seed)
        self.kills = {"driver": 0, "worker": 0, "fork server": 0, "driver and fork server": 0}

    def run(self, suite: str, results: str, kills: int) -> None:
        """Run a suite to its end, but kill something so many times before."""
        left = kills
        while True:
            driver = self.start(suite, results)
            while left and driver.poll() is None:
                if self.chance.random() < 0.75:
                    await_progress(driver, self.folder / results)
                with suppress(subprocess.TimeoutExpired):
                    driver.wait(self.chance.uniform(0.0, LONGEST_WAIT))
                if driver.poll() is None and self.kill(driver):
                    left -= 1
            code = driver.wait(timeout=600)
            if code == 0 and not left:
                return
            if code == 0:  # finished too soon: some runs have to be done again
                self.forget_some(results)
            elif code != -signal.SIGKILL:
                records = Store(self.folder / results).records()
                failed = [record.outcome.error for record in records if record.outcome.status == "failed"]
                raise AssertionError(f"exit code {code}: {(self.folder / 'log').read_text()[-2000:]} {failed[:3]}")

    def start(self, suite: str, results: str) -> subprocess.Popen[bytes]:
        words = (*SUITES[suite], f"results={results}", "jobs=2", "checkpoint_seconds=0.05", "--quiet")
        with (self.folder / "log").open("ab") as log:
            return mobench("run", *words, cwd=self.folder, env=marked(self.folder), stdout=log, stderr=log)

    def kill(self, driver: subprocess.Popen[bytes]) -> bool:
        """Kill the driver, its fork server, both or a worker; False where there was nothing to kill."""
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(driver.pid)
            kind = self.chance.choice(["driver", "driver", *["worker"] * 3, "fork server", "driver and fork server"])
            found = workers(driver.pid)
            servers = list({worker.parent() for worker in found} - {None})
            worker = [self.chance.choice(found)] if found else []
            both = [*servers, process] if servers else []
            victims = {"driver": [process], "worker": worker, "fork server": servers}.get(kind, both)
            for victim in victims:
                victim.send_signal(signal.SIGKILL)
            self.kills[kind] += bool(victims)
            return bool(victims)
        return False

    def forget_some(self, results: str) -> None:
        """Delete records, so that there is something to do again."""
        paths = sorted((self.folder / results / "runs").glob("*/*.json"))
        for path in self.chance.sample(paths, max(1, len(paths) // 2)):
            path.unlink()


def stored(root: Path) -> dict[Path, int]:
    """Return the records and checkpoints of a results folder, with the time at which each was written."""
    found = {}
    for path in (*root.glob("runs/*/*.json"), *root.glob("checkpoints/*.pt")):
        with suppress(FileNotFoundError):
            found[path] = path.stat().st_mtime_ns
    return found


def await_progress(driver: subprocess.Popen[bytes], root: Path) -> None:
    """Wait until something more is stored, or the driver has ended."""
    before = stored(root)
    wait_until(lambda: driver.poll() is not None or stored(root) != before)


def leftover_files(root: Path) -> list[Path]:
    """Return whatever a finished results folder should not hold."""
    wanted = {"runs": "*/*.json", "manifests": "*.json", "artifacts": "*/*.pt", "index": "*.parquet"}
    good = {path for name, pattern in wanted.items() for path in (root / name).glob(pattern)}
    return [path for path in root.rglob("*") if path.is_file() and path not in good]


def check(folder: Path, suite: str, kills: int, seed: int) -> dict[str, int]:
    """Compare a run with kills with one without; return how often what was killed."""
    (folder / "digits.yaml").write_text(DIGITS)
    run_here("run", *SUITES[suite], f"results={suite}-whole", "jobs=2", "--quiet", cwd=folder)
    killer = Killer(folder, seed)
    killer.run(suite, f"{suite}-killed", kills)
    whole, killed = compared(folder / f"{suite}-whole"), compared(folder / f"{suite}-killed")
    assert whole and killed == whole, "the results differ from those of an undisturbed run"
    wait_until(lambda: not living(folder))
    left = [*leftover_files(folder / f"{suite}-killed"), *leftovers(folder)]
    assert not left, f"left over: {left}"
    return killer.kills


def main(kills: int, seed: int) -> None:
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        for suite in SUITES:
            began = time.monotonic()
            counts = check(Path(name), suite, kills // len(SUITES), seed)
            print(f"{suite}: {counts}, {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200, int(sys.argv[2]) if len(sys.argv) > 2 else 0)
