"""Nothing computes beside what is timed: real processes and their locks."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from mobench.core import quiet
from mobench.core.quiet import Quiet

WORKER = """
import sys, time
from pathlib import Path
from mobench.core.quiet import Quiet
mine, counter = Quiet(Path(sys.argv[1])), Path(sys.argv[2])
with mine.training():
    for step in range(10**9):
        counter.write_text(str(step))
        time.sleep(0.001)
        if sys.argv[3] == "polite":
            mine.pause()
"""


class Worker:
    """A process that trains: each step is written to a file."""

    def __init__(self, folder: Path, name: str, manner: str = "polite") -> None:
        self.counter = folder / name
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(folder / "locks"), str(self.counter), manner]
        )

    def steps(self) -> int:
        return int(self.counter.read_text() or -1) if self.counter.exists() else -1

    def wait_beyond(self, step: int) -> None:
        deadline = time.monotonic() + 60.0
        while self.steps() <= step:
            assert self.process.poll() is None and time.monotonic() < deadline
            time.sleep(0.005)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def test_others_stand_still_while_one_has_quiet_and_go_on_afterwards(tmp_path: Path) -> None:
    workers = [Worker(tmp_path, name) for name in ("a", "b")]
    mine = Quiet(tmp_path / "locks")
    try:
        for worker in workers:
            worker.wait_beyond(0)
        with mine.training():
            with mine.alone():
                before = [worker.steps() for worker in workers]
                time.sleep(0.3)
                assert [worker.steps() for worker in workers] == before
            for worker, step in zip(workers, before, strict=True):
                worker.wait_beyond(step)
    finally:
        for worker in workers:
            worker.end()


def test_a_run_that_hangs_does_not_keep_others_waiting_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quiet, "PATIENCE_SECONDS", 0.2)
    worker = Worker(tmp_path, "a", "rude")
    try:
        worker.wait_beyond(0)
        with Quiet(tmp_path / "locks").alone():
            step = worker.steps()
            worker.wait_beyond(step)  # it was never polite enough to stop
    finally:
        worker.end()


def test_a_pause_says_how_long_the_process_stood_still(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quiet, "EVERY_SECONDS", 0.0)
    mine = Quiet(tmp_path)
    assert mine.pause() == 0.0, "who does not train has nothing to leave"
    with mine.training():
        assert mine.pause() >= 0.0
        monkeypatch.setattr(quiet, "EVERY_SECONDS", 1e9)
        assert mine.pause() == 0.0


def test_without_a_folder_to_lock_in_everything_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    mine = Quiet(tmp_path / "file" / "locks")
    with mine.training(), mine.alone():
        assert not (tmp_path / "file").is_dir()
