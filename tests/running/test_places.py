"""Where a worker computes: devices that are asked for, those that are there, and what its problems use."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from mobench.cli import main
from mobench.cli.run import Run
from mobench.core import cuda, speed
from mobench.core.resources import VARIABLE
from mobench.errors import UserError
from mobench.running import machine
from mobench.running.executors import ray
from mobench.store.folder import Store
from mobench.training.loop import train
from tests.running import cluster_runs
from tests.running.pretended_gpus import begun, mobench, prepare

CORES = 8
NAMES = ("witness", "greedy", "insatiable")
VISIBLE = "CUDA_VISIBLE_DEVICES"

Found = list[tuple[str, str | None]]
"""Device and visible devices of every worker."""


def pretend(monkeypatch: pytest.MonkeyPatch, nvml: int, usable: int, visible: str | None) -> None:
    """Let the driver count some devices, torch be able to use some, and the environment hide some."""

    def no_library() -> int:
        raise OSError("libnvidia-ml.so.1: cannot open shared object file")

    monkeypatch.setenv(VARIABLE, "{}")
    monkeypatch.delenv("PYTORCH_NVML_BASED_CUDA_CHECK", raising=False)  # set by libraries of other tests
    monkeypatch.setenv(VISIBLE, "") if visible is None else monkeypatch.setenv(VISIBLE, visible)
    if visible is None:
        monkeypatch.delenv(VISIBLE)
    monkeypatch.setattr(torch.cuda, "_raw_device_count_nvml", (lambda: nvml) if nvml else no_library)
    if usable:
        monkeypatch.setattr(torch._C, "_cuda_getDeviceCount", torch.cuda._device_count_nvml)
    monkeypatch.setattr(cuda, "NVIDIA", "libc.so.6")
    monkeypatch.setattr(machine, "usable_cores", lambda: CORES)
    monkeypatch.setattr(ray.Ray, "_connect", lambda self: None)
    monkeypatch.setattr(ray, "_nodes", lambda: [{"CPU": 4.0, "GPU": 1.0}, {"CPU": 4.0, "GPU": 2.0}])


def places(line: list[str], uses_device: bool) -> Found | str:
    """Return the places that a command would use for runs of a kind, or its complaint."""
    run = Run.read(line)
    try:
        executor = run.chosen_executor()
        run.settle_device(executor)
        return [(place.device, place.visible) for place in executor.places(run.share, uses_device)]
    except UserError as error:
        return str(error)


def expected(
    executor: str, device: str, gpus: str, nvml: int, usable: int, visible: str | None, uses_device: bool
) -> Found | str:
    """Return the same from the rules, and of a complaint a part."""
    by_position = gpus in ("0", "1")
    if (gpus == "none" and device.startswith("cuda")) or (by_position and device in ("cpu", "cuda:1")):
        return "do not go together"
    on_cpu = [("cpu", "")]
    if executor in ("slurm", "ray"):
        if by_position:
            return "chooses devices itself"
        if device == "cuda:1":
            return "device takes cpu or cuda"
        promised = device == "cuda" or (device == "auto" and gpus == "auto" and executor == "ray")
        if promised and uses_device:
            return [("cuda", None)] * (3 if executor == "ray" else CORES)
        return on_cpu * CORES
    seen = (["0", "1"] if visible is None else [visible] if visible else [])[:nvml]
    if device.startswith("cuda") and len(seen if usable else []) < (2 if device == "cuda:1" else 1):
        return "cannot be used here"
    if by_position and int(gpus) >= len(seen):
        return "positions of devices"
    chosen = seen if gpus == "auto" else [seen[int(gpus)]] if by_position else []
    chosen = [] if device == "cpu" else [seen[1]] if device == "cuda:1" else chosen
    if not uses_device or not chosen:
        return on_cpu * (1 if executor == "here" else CORES)
    if not usable:
        return "that torch cannot use: Found no NVIDIA driver"
    return [(f"cuda:{seen.index(chosen[0])}", None)] if executor == "here" else [("cuda", name) for name in chosen]


@pytest.mark.parametrize("gpus", ["auto", "none", "0", "1"])
@pytest.mark.parametrize("device", ["auto", "cpu", "cuda", "cuda:1"])
@pytest.mark.parametrize("executor", ["local", "here", "slurm", "ray"])
def test_places(executor: str, device: str, gpus: str) -> None:
    if executor in ("slurm", "ray"):
        pytest.importorskip({"slurm": "submitit"}.get(executor, executor))
    cluster = ["slurm.cluster=local"] if executor == "slurm" else []
    line = ["suite=plane", f"executor={executor}", f"device={device}", f"gpus={gpus}", *cluster]
    for nvml, usable in ((2, 2), (2, 0), (0, 0)):
        for visible in (None, "", "1"):
            for uses_device in (True, False):
                with pytest.MonkeyPatch.context() as monkeypatch:
                    pretend(monkeypatch, nvml, usable, visible)
                    found = places(line, uses_device)
                wanted = expected(executor, device, gpus, nvml, usable, visible, uses_device)
                case = (nvml, usable, visible, uses_device)
                assert found == wanted or (isinstance(wanted, str) and wanted in found), (case, found, wanted)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (["jobs_per_gpu=2"], [("cuda", "GPU-a"), ("cuda", "GPU-b")] * 2),
        (["jobs=1"], [("cuda", "GPU-a")]),
        (["gpus=1,0"], [("cuda", "GPU-b"), ("cuda", "GPU-a")]),
        (["jobs=3"], "jobs=3 is more than the 2 GPUs take with jobs_per_gpu=1; at most 2, or a larger"),
        (["gpus=0,0"], "names a device twice"),
        (["gpus=0,3"], "positions from 0 to 1"),
        (["executor=slurm", "slurm.cluster=local", "slurm.gpus=4"], "a job uses one GPU; slurm.gpus=1 jobs=4 asks"),
        (["executor=slurm", "slurm.options=gres=gpu:a100:2"], "a job uses one GPU"),
    ],
)
def test_shares_of_devices(line: list[str], wanted: Found | str, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, 2, 2, "GPU-a,GPU-b")
    monkeypatch.setattr(torch.cuda, "_raw_device_uuid_nvml", lambda: ["GPU-a", "GPU-b"])
    monkeypatch.setattr("shutil.which", lambda name: name)
    found = places(["suite=plane", *line], uses_device=True)
    assert found == wanted or (isinstance(wanted, str) and wanted in found)


def test_jobs_beyond_the_gpus_are_for_runs_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, 2, 2, None)
    assert places(["suite=plane", "jobs=5"], uses_device=False) == [("cpu", "")] * 5


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    prepare(tmp_path)
    return tmp_path


def test_a_worker_for_each_device_and_cores_for_what_uses_none(folder: Path) -> None:
    """Three runs at once, on two GPUs and a core; each sees what it may use, with one thread."""
    mobench(folder, "problem=bowl,tray", "methods=witness", "seeds=2", "methods.witness.beside=3", "jobs=3",
            "jobs_per_gpu=2")  # fmt: skip
    seen = begun(folder)
    assert len({entry["pid"] for entry in seen[:3]}) == 3, "no run goes on before three have begun"
    places = sorted((entry["gpu"], entry["device"], entry["cuda"]) for entry in seen)
    assert places == [("", "cpu", False)] * 2 + [("0", "cuda", True), ("1", "cuda", True)]
    assert all(entry["threads"] == [1, 1] for entry in seen)


def test_a_run_without_memory_is_tried_once_more_alone_on_its_device_and_then_recorded(folder: Path) -> None:
    """Three runs share one device: two of them do not fit beside the others, and one of these never does."""
    words = ("problem=bowl", f"methods={','.join(NAMES)}", "seeds=1", "gpus=1", "jobs_per_gpu=3")
    together = (f"methods.{name}.beside=3" for name in NAMES)
    told = mobench(folder, *words, *together, code=1)
    seen = begun(folder)
    assert sorted(entry["method"] for entry in seen[:3]) == sorted(NAMES), "side by side"
    assert {entry["gpu"] for entry in seen} == {"1"}
    assert sorted(entry["method"] for entry in seen[3:]) == ["greedy", "insatiable"], "once more each"
    assert len({entry["pid"] for entry in seen}) == 5, "in a process without anything that the first try left"
    records: dict[str, Any] = {
        record.spec.method.partition("@")[0]: record.outcome for record in Store(folder / "results").records()
    }
    assert [records[name].status for name in NAMES] == ["done", "done", "failed"]
    assert "out of memory" in records["insatiable"].reason
    assert "(also when it was tried again alone)" in records["insatiable"].reason
    assert "out of memory" in told


def test_gpus_that_torch_cannot_use_are_an_error_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(monkeypatch, 2, 0, None)
    line = ["run", "methods=pcd", "seeds=1", "training.steps=1", "training.epochs=0", f"results={tmp_path / 'results'}"]
    assert main([*line, "problem=compression"]) == 2
    said = capsys.readouterr().err
    assert "this machine has 2 CUDA devices that torch cannot use: Found no NVIDIA driver" in said
    assert "device=cpu trains on the CPU" in said and list(tmp_path.iterdir()) == []
    assert main([*line, "problem=two-wells", "jobs=0"]) == 0, "it needs none"


def test_days_on_a_cpu_that_nobody_asked_for_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["run", "suite=compression", "profile=paper", "methods=pcd", "seeds=1", f"results={tmp_path / 'results'}"]
    line += [f"data.root={tmp_path}", "data.download=false"]
    with pytest.MonkeyPatch.context() as monkeypatch:
        pretend(monkeypatch, 0, 0, None)
        assert main(line) == 2
        refused = capsys.readouterr().err
        assert main([*line, "device=cpu"]) == 2
        asked_for = capsys.readouterr().err
    assert "days on a core of the CPU" in refused and "device=cpu runs it there all the same" in refused
    assert "days on" not in asked_for and "data.root" in asked_for, "it goes on to look for its data"
    assert list(tmp_path.iterdir()) == []


def test_adam_opens_no_context_for_parameters_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks whether the current stream is captured; in this process the question would make one on the first GPU."""

    def opened(*arguments: object, **named: object) -> None:
        raise AssertionError("a context on the first GPU")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", opened)
    if hasattr(torch, "accelerator"):
        monkeypatch.setattr(torch.accelerator, "current_accelerator", opened)
    training = {**cluster_runs.lockstep(1)[0].run_training, "optimizer": "adam", "momentum": 0.0, "steps": 2}
    run = replace(cluster_runs.lockstep(1)[0], training=training)
    (outcome,) = train([run])
    assert outcome.status == "done", outcome.error


def test_jobs_that_share_a_gpu_shorten_the_estimate_by_half_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend(monkeypatch, 2, 2, None)
    monkeypatch.setattr(speed, "measured_speed", lambda device: speed.ASSUMED["cuda"])
    hours = {}
    for shared in (1, 4):
        line = ["suite=compression", "profile=paper", "methods=pcd", "seeds=1", f"jobs_per_gpu={shared}"]
        assert main(["run", "--dry-run", *line, f"results={tmp_path / 'results'}"]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "in 6 ms (assumed, not measured)" in said
        number, unit, jobs, more = re.search(
            r"In all about ([\d:]+) (h|days) with jobs=(\d+)(.*); nothing", said
        ).groups()
        assert (int(jobs), "assumed, not measured" in more) == (2 * shared, shared > 1)
        whole, _, minutes = number.partition(":")
        hours[shared] = float(whole) * (24 if unit == "days" else 1) + float(minutes or 0) / 60
    assert hours[1] / hours[4] == pytest.approx(1.5, rel=0.05)
