"""What `mobench status` says: while drivers run, after they died, and of empty and finished folders."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from mobench.cli import main
from mobench.core.outcome import Outcome
from mobench.core.spec import RunSpec
from mobench.running import publishing
from mobench.running.events import Event, Stepped
from mobench.running.executor import execute
from mobench.running.folder_status import FolderStatus, folder_status
from mobench.store.folder import Store
from mobench.training import loop
from tests.running import trainers
from tests.running.test_steps_move_the_bar import STEPS, runs, train_reporting_every_step
from tests.running.trainers import spec

PATIENCE = 120.0
DRIVER = """
import sys
from pathlib import Path
from typing import Any
from mobench.running.executor import execute
from mobench.store.folder import Store
from tests.running import trainers
first = int(sys.argv[2])
waiting = [[trainers.spec(seed, "sleep", seconds=600)] for seed in range(first, first + 2)]
execute(waiting, Store(Path(sys.argv[1])), jobs=0, train=trainers.train)
"""


def wait_for(root: Path, what: Callable[[FolderStatus], bool]) -> FolderStatus:
    deadline = time.monotonic() + PATIENCE
    while not what(found := folder_status(root)):
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return found


def train_until_looked_at(group: Sequence[RunSpec], checkpoint: Path | None = None) -> list[Outcome | None]:
    """Report the first step, and take the next when the file `looked` lies beside the results folder."""
    assert checkpoint is not None
    looked, tell = checkpoint.parents[2] / "looked", loop.tell

    def tell_and_wait(*words: Any) -> None:
        tell(*words)
        deadline = time.monotonic() + PATIENCE
        while not looked.exists() and time.monotonic() < deadline:
            time.sleep(0.02)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "tell", tell_and_wait)
        return train_reporting_every_step(group, checkpoint)


def test_a_run_under_way_says_where_and_how_far_it_is(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "PUBLISH_SECONDS", 0.01)
    monkeypatch.setattr(loop, "REPORT_SECONDS", loop.REPORT_SECONDS)
    seen: list[FolderStatus] = []

    def look(event: Event) -> None:
        if isinstance(event, Stepped) and not seen:
            seen.append(wait_for(store.root, lambda found: any(d.jobs and d.jobs[0].step for d, _ in found.drivers)))
            (store.root.parent / "looked").touch()

    execute([runs(3)], store, jobs=1, train=train_until_looked_at, on_event=look)
    (status,) = seen
    ((driver, state),) = status.drivers
    (job,) = driver.jobs
    assert (state, driver.owner.pid, driver.planned) == ("alive", os.getpid(), 3)
    assert (job.runs, job.total, job.host) == (3, STEPS, platform.node()) and 0 < job.step <= STEPS
    assert job.steps_per_second > 0 and "3 runs of mgda" in job.label
    assert (status.running, status.planned, status.done) == (3, 3, 0)
    assert status.expected_end is not None
    after = folder_status(store.root)
    assert (after.done, after.running, after.drivers) == (3, 0, [])
    assert not list((store.root / "status").iterdir())


def test_two_drivers_and_their_death(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-c", DRIVER, str(store.root)]
    folder = Path(__file__).parents[2]
    processes = [subprocess.Popen([*command, str(first)], cwd=folder) for first in (0, 2)]
    try:
        wait_for(store.root, lambda found: found.running == 2)
        assert main(["status", f"results={store.root}", "format=json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert {driver["pid"] for driver in told["drivers"]} == {process.pid for process in processes}
        assert (told["running"], told["done"], len(told["jobs"])) == (2, 0, 2)
    finally:
        for process in processes:
            process.send_signal(signal.SIGKILL)
            process.wait()
    assert main(["status", f"results={store.root}"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("died") == 2 and "1 runs under way" in shown and "nobody is at work" in shown
    execute([[spec(9)]], store, jobs=0, train=trainers.train)
    assert folder_status(store.root).drivers == []


def test_failures_have_reasons_and_every_line_fits(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = [[spec(seed, "raise", why="x" * 200)] for seed in range(12)] + [[spec(99)]]
    execute(groups, store, jobs=0, train=trainers.train)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["status", f"results={store.root}", "watch=true"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "1 of 13 runs done, 12 failed"
    latest = max(record.finished for record in store.records() if record.outcome.status == "failed")
    last = {record.spec.seed for record in store.records() if record.finished == latest}
    assert any(f"actor@1 on toy@1, seed {seed}: ArithmeticError: seed {seed}" in lines[1] for seed in last)
    assert lines[11].startswith("and 2 more: mobench results") and max(map(len, lines)) <= 80


def test_empty_and_missing_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", f"results={tmp_path}"]) == 0
    assert capsys.readouterr().out == "nothing is stored here, and nobody is at work\n"
    assert main(["status", f"results={tmp_path / 'none'}"]) == 2
    assert main(["status", f"results={tmp_path}", "format=xml"]) == 2
