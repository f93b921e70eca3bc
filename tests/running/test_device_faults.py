"""Faults of a device: they cost a process, and neither runs nor their methods."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from mobench.errors import UserError
from mobench.running.events import Closed, Event, Split
from mobench.running.executor import execute
from mobench.running.executors.base import Share
from mobench.store.folder import Store
from tests.running import cluster_runs, faulty_device, trainers
from tests.running.pretended_gpus import begun, mobench, prepare

FIRST_LINE = "CUDA error: device-side assert triggered"


@pytest.mark.parametrize("together", [False, True])
def test_a_fault_costs_its_process_and_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, together: bool) -> None:
    """The device fails once in 22 runs, in lockstep or one after the other in few jobs, and every process after it."""
    runs = cluster_runs.lockstep(faulty_device.SEED + 22)[faulty_device.SEED :]
    groups = [runs] if together else [[run] for run in runs]
    calm, shaken = Store(tmp_path / "calm"), Store(tmp_path / "shaken")
    execute(groups, calm, weights=[1.0] * len(groups), train=faulty_device.train)
    monkeypatch.setenv(faulty_device.LOG, str(tmp_path / "log"))
    events: list[Event] = []
    weights = [1.0] * len(groups)
    on_cpu = {runs[0].problem} if together else ()
    tally = execute(
        groups, shaken, weights=weights, train=faulty_device.train, on_event=events.append, cpu_problems=on_cpu
    )
    assert (tally.done, tally.failures) == (22, [])
    assert cluster_runs.numbers(shaken) == cluster_runs.numbers(calm), "to the last bit"
    lines = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    begun = [(process, resumed) for seed, process, resumed in lines if int(seed) == faulty_device.SEED]
    assert [resumed for _, resumed in begun] == ["0", "1"], "from its checkpoint"
    assert len({process for _, process, _ in lines}) == 2, "the process that failed does nothing more"
    assert list((shaken.root / "checkpoints").iterdir()) == []
    (split,) = [event for event in events if isinstance(event, Split)]
    assert split.again and split.reason.endswith(FIRST_LINE), "the first line, not the advice after it"


def test_a_worker_without_the_gpu_that_it_was_promised_is_lost_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver is told of a GPU, and the workers, which are not, find none."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    events: list[Event] = []
    groups, store = [[run] for run in trainers.specs(3)], Store(tmp_path)
    with pytest.raises(UserError, match=r"no GPU is left: no CUDA device: Found no NVIDIA driver.* 3 runs are"):
        execute(groups, store, share=Share(), train=trainers.train, on_event=events.append)
    (closed,) = [event for event in events if isinstance(event, Closed)]
    assert closed.device.startswith("GPU 0 of ") and "Found no NVIDIA driver" in closed.reason
    assert list(store.records()) == [], "no run is to blame"
    tally = execute(groups, store, share=Share(), train=trainers.train, cpu_problems={"toy@1"})
    assert tally.done == 3, "what uses no device needs none"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    prepare(tmp_path)
    return tmp_path


def test_a_gpu_on_which_nothing_comes_further_is_closed(folder: Path) -> None:
    told = mobench(folder, "problem=bowl", "methods=picky", "seeds=3")
    assert "uncorrectable ECC error" in told and "is used no more" in told and "GPU 0 of " in told
    records = list(Store(folder / "results").records())
    assert [record.outcome.status for record in records] == ["done"] * 3
    gpus = [entry["gpu"] for entry in begun(folder)]
    assert gpus.count("0") == 4 and gpus.count("1") == 3


def test_a_gpu_that_breaks_is_closed_and_without_another_the_command_ends(folder: Path) -> None:
    """It has done three runs of the method, so what happens to the others is not the method's fault."""
    words = ("problem=bowl", "methods=picky", "methods.picky.after=3", "seeds=7", "gpus=0", "log=log")
    told = mobench(folder, *words, code=2)
    assert "no GPU is left: torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered" in told
    assert "4 runs are not done; when the cause is removed, the same command goes on" in told
    assert [record.outcome.status for record in Store(folder / "results").records()] == ["done"] * 3
    events = [json.loads(line)["event"] for line in (folder / "log").read_text().splitlines()]
    assert events.count("closed") == 1 and "failed" not in events


def test_a_method_that_fails_in_fresh_processes_too_is_recorded_and_the_others_are_done(folder: Path) -> None:
    told = mobench(folder, "problem=bowl", "methods=asserting,witness", "seeds=1", "gpus=1", code=1)
    outcomes = {record.spec.method: record.outcome for record in Store(folder / "results").records()}
    assert outcomes["witness@1"].status == "done" and "is used no more" not in told
    assert outcomes["asserting@1"].reason == f"torch.AcceleratorError: {FIRST_LINE} (so did 3 fresh processes)"
    tried = [entry["pid"] for entry in begun(folder) if entry["method"] == "asserting"]
    assert len(tried) == len(set(tried)) == 4


def test_without_worker_processes_a_fault_ends_the_command(tmp_path: Path) -> None:
    def fail(group: object, checkpoint: object) -> None:
        raise torch.AcceleratorError(faulty_device.MESSAGE)

    with pytest.raises(UserError, match=f"{FIRST_LINE}: this process cannot use the device any more"):
        execute([trainers.specs(2)], Store(tmp_path), jobs=0, train=fail)
    assert list(Store(tmp_path).records()) == []
