"""The executor for Slurm on submitit's local jobs: preempted and killed pilots cost nothing and leave nothing."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import psutil
import pytest

from mobench.cli import main
from mobench.errors import UserError
from mobench.running.events import Event, Split, Stepped
from mobench.running.executor import execute
from mobench.running.executors.base import Share
from mobench.running.executors.slurm import Slurm
from mobench.store.folder import Store
from tests.running import cluster_runs
from tests.running.cluster_runs import STUCK, WAITING, numbers, place, wait_until

pytest.importorskip("submitit", reason="the package submitit is not installed: pip install 'mobench[slurm]'")


def test_preempted_and_killed_jobs_go_on_from_their_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck, waiting = tmp_path / "stuck", tmp_path / "waiting"
    monkeypatch.setenv(STUCK, str(stuck))
    monkeypatch.setenv(WAITING, str(waiting))
    slurm, local = Store(tmp_path / "slurm"), Store(tmp_path / "local")
    networks, group = cluster_runs.networks(2), cluster_runs.lockstep(4)
    groups = [[networks[0]], [networks[1]], group]
    events: list[Event] = []

    def disturb() -> None:
        wait_until(lambda: stuck.exists() and waiting.exists())
        wait_until(lambda: any(isinstance(event, Stepped) for event in events))  # how far a job is has come home
        os.kill(place(waiting)[1][2], signal.SIGUSR2)  # above the worker: its fork server, then submitit's task
        for process in place(stuck)[1][2:4]:
            os.kill(process, signal.SIGKILL)

    disturber = threading.Thread(target=disturb)
    disturber.start()
    tally = execute(
        groups,
        slurm,
        executor=Slurm(cluster="local"),
        share=Share(jobs=2),
        train=cluster_runs.train,
        on_event=events.append,
        weights=[3.0, 2.0, 1.0],
    )
    disturber.join()
    assert (tally.done, tally.failures) == (6, [])
    assert [event.runs for event in events if isinstance(event, Split)] == [1]  # a preempted job is no loss
    assert (1, 12) in [(event.steps.step, event.steps.total) for event in events if isinstance(event, Stepped)]
    monkeypatch.delenv(STUCK)
    monkeypatch.delenv(WAITING)
    execute(groups, local, train=cluster_runs.train)
    assert numbers(slurm) == numbers(local)
    assert list((slurm.root / "checkpoints").iterdir()) == []
    assert not (slurm.root / "slurm").exists()
    assert not any(psutil.pid_exists(process) for file in (stuck, waiting) for process in place(file)[1][:3])


@pytest.mark.parametrize(
    ("given", "minutes"), [("90", 90), ("5:30", 6), ("2:00:00", 120), ("1-0", 1440), ("1-2:30", 1590), ("0:20", 1)]
)
def test_times_are_read_as_slurm_does(given: str, minutes: int) -> None:
    assert Slurm(time=given)._minutes() == minutes


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (["slurm.time=soon"], "slurm.time takes minutes"),
        (["slurm.cluster=local", "slurm.partition=big"], "slurm.partition=big has no effect"),
        (["slurm.cluster=local", "gpus=0"], "slurm.gpus says how many"),
        (["slurm.cluster=local", "jobs_per_gpu=2"], "shares no GPU"),
        (["slurm.options=account!"], "takes options like"),
        (["slurm.partitoin=big"], "Did you mean 'partition'?"),
        ([], "there is no sbatch here"),
    ],
)
def test_mistakes_are_refused_before_anything_is_written(
    line: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["run", "suite=escape", "executor=slurm", *line]) == 2
    said = capsys.readouterr().err
    assert complaint in said and len(said.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "submitit", None)
    with pytest.raises(UserError, match=r"pip install 'mobench\[slurm\]'"):
        Slurm(cluster="local").places(Share(), uses_device=True)
