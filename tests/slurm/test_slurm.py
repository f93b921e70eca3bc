"""A real Slurm on loopback: sbatch, arrays, a requeue and a notice of the time limit in mid-run, the same records."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mobench.running.executor import execute
from mobench.running.executors.base import Share
from mobench.running.executors.slurm import Slurm
from mobench.store.folder import Store
from tests.running import cluster_runs
from tests.running.cluster_runs import STUCK, WAITING, numbers, place, wait_until

SCRIPT = Path(__file__).with_name("loopback.sh")
MISSING = [name for name in ("slurmctld", "slurmd", "sbatch", "munged") if shutil.which(name) is None]
pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=f"{', '.join(MISSING)} not installed here: `make slurm` does it as root"),
    pytest.mark.skipif(os.getuid() != 0, reason="only root can start Slurm's daemons"),
]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("slurm")
    subprocess.run([SCRIPT, "start", folder, *map(str, _free_ports())], check=True, timeout=120)
    before = os.environ.get("SLURM_CONF")
    os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
    yield
    subprocess.run([SCRIPT, "stop", folder], check=True, timeout=60)
    os.environ.pop("SLURM_CONF") if before is None else os.environ.update(SLURM_CONF=before)


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


def slurm_says(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout


@pytest.mark.usefixtures("slurm")
def test_requeued_jobs_go_on_from_their_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stuck, waiting = tmp_path / "stuck", tmp_path / "waiting"
    monkeypatch.setenv(STUCK, str(stuck))
    monkeypatch.setenv(WAITING, str(waiting))
    slurm, local = Store(tmp_path / "slurm"), Store(tmp_path / "local")
    networks, group = cluster_runs.networks(2), cluster_runs.lockstep(4)
    groups = [[networks[0]], [networks[1]], group]
    restarts: list[str] = []

    def disturb() -> None:
        wait_until(lambda: stuck.exists() and waiting.exists())
        jobs = place(stuck)[0], place(waiting)[0]
        slurm_says("scontrol", "requeue", jobs[0])  # as a preemption does: SIGTERM, soon SIGKILL, then a new start
        slurm_says("scancel", "--signal=USR2", jobs[1])  # as before the time limit
        for job in jobs:
            wait_until(lambda job=job: "Restarts=1" in slurm_says("scontrol", "show", "job", job))
            restarts.append(job)

    disturber = threading.Thread(target=disturb)
    disturber.start()
    tally = execute(
        groups,
        slurm,
        executor=Slurm(partition="main", time="0:10:00", memory="500MB", options="comment=trial"),
        share=Share(jobs=2),
        train=cluster_runs.train,
        weights=[3.0, 2.0, 1.0],
    )
    disturber.join()
    assert (tally.done, tally.failures) == (6, [])
    assert len(restarts) == 2
    monkeypatch.delenv(STUCK)
    monkeypatch.delenv(WAITING)
    execute(groups, local, train=cluster_runs.train)
    assert numbers(slurm) == numbers(local)
    assert list((slurm.root / "checkpoints").iterdir()) == []
    assert not (slurm.root / "slurm").exists()
    assert slurm_says("squeue", "--noheader") == ""


@pytest.mark.usefixtures("slurm")
def test_what_slurm_refuses_is_said_in_one_line_and_nothing_is_written(tmp_path: Path) -> None:
    for option, complaint in (("slurm.partition=nope", "invalid partition"), ("slurm.cpus=99", "not available")):
        command = [sys.executable, "-m", "mobench", "run", "suite=escape", "executor=slurm", option]
        answer = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=240)
        assert answer.returncode == 2, answer.stderr
        assert complaint in answer.stderr.lower() and len(answer.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
