"""Workers on a machine with several GPUs: where each of them computes, and what happens when memory runs out.

All that is pretended, in every process, is a driver, and that `torch.cuda` counts three devices. Runs still
compute on the CPU. Commands, worker processes and their environment are real.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from mobench.core.resources import VARIABLE, Resources, resources
from mobench.errors import UserError
from mobench.running.executors.base import Share
from mobench.running.machine import Place, places, visible_devices
from mobench.store.folder import Store

NAMES = ("witness", "greedy", "insatiable")

PRETENDED = """
import importlib.util, sys

def three_devices(torch):
    torch.cuda.device_count = lambda: 3
    torch.cuda.is_available = lambda: False  # Lightning has it follow `device_count`, by a variable it sets

def a_driver(cuda):
    cuda.NVIDIA = "libc.so.6"

class After:
    def __init__(self, name, change):
        self.name, self.change = name, change

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module
        def exec_module(module):
            load(module)
            self.change(module)
        spec.loader.exec_module = exec_module
        return spec

sys.meta_path[:0] = [After("torch", three_devices), After("mobench.core.cuda", a_driver)]
"""

METHODS = '''
import json, os, threading, time
from pathlib import Path

import numpy as np
import threadpoolctl
import torch

from mobench import Method, Step, integer, register
from mobench.core.resources import resources

FOLDER = Path(__file__).parent / "begun"


class Witness(Method):
    beside: int = integer(1, low=1, meaning="how many runs must have begun before one goes on")

    def weights(self, step: Step) -> np.ndarray:
        FOLDER.mkdir(exist_ok=True)
        seen = {
            "method": self.name, "pid": os.getpid(),
            "gpu": os.environ.get("CUDA_VISIBLE_DEVICES"), "device": resources().device,
            "threads": [torch.get_num_threads(), *{pool["num_threads"] for pool in threadpoolctl.threadpool_info()}],
        }
        path = FOLDER / f"{time.monotonic_ns()}.json"
        path.with_suffix(".part").write_text(json.dumps(seen))
        path.with_suffix(".part").rename(path)
        while len(list(FOLDER.glob("*.json"))) < self.beside:
            time.sleep(0.01)
        return np.ones(step.k)


@register
class Here(Witness):
    """Say where it computes."""

    name = "witness"


@register
class Greedy(Witness):
    """Memory runs out on the first try."""

    name = "greedy"

    def weights(self, step: Step) -> np.ndarray:
        weights = super().weights(step)
        if sum(json.loads(path.read_text())["method"] == self.name for path in FOLDER.glob("*.json")) == 1:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3.00 GiB.")
        return weights


@register
class Insatiable(Witness):
    """Memory always runs out."""

    name = "insatiable"

    def weights(self, step: Step) -> np.ndarray:
        super().weights(step)
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3.00 GiB.")
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sitecustomize.py").write_text(PRETENDED)
    (tmp_path / "witness.py").write_text(METHODS)
    return tmp_path


def mobench(folder: Path, *words: str, visible: str | None = None, code: int = 0) -> str:
    """Run a suite of tiny problems for one step."""
    environment = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    environment |= {"PYTHONPATH": str(folder), "COLUMNS": "100"}
    if visible is not None:
        environment["CUDA_VISIBLE_DEVICES"] = visible
    command = [sys.executable, "-m", "mobench", "run", "suite=plane", "plugins=witness.py", "training.steps=1", *words]
    done = subprocess.run(command, cwd=folder, env=environment, text=True, capture_output=True, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def begun(folder: Path) -> list[dict[str, Any]]:
    """Return what the runs saw, in the order in which they began."""
    return [json.loads(path.read_text()) for path in sorted((folder / "begun").glob("*.json"))]


def test_by_default_there_is_a_worker_for_each_device_with_one_thread(folder: Path) -> None:
    mobench(folder, "methods=witness", "seeds=2", "methods.witness.beside=3")
    seen = begun(folder)
    assert len({entry["pid"] for entry in seen[:3]}) == 3, "no run goes on before three have begun"
    assert sorted(entry["gpu"] for entry in seen[:3]) == ["0", "1", "2"]
    assert all(entry["threads"] == [1, 1] for entry in seen)


def test_devices_are_chosen_among_the_visible_ones_and_may_be_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b,GPU-c")
    seen = visible_devices("auto", "auto")
    assert [place.device for place in places(Share(gpus="0,2", jobs_per_gpu=2), seen, 8)] == ["GPU-a", "GPU-c"] * 2
    assert [place.device for place in places(Share(jobs=2), seen, 8)] == ["GPU-a", "GPU-b"]
    for device, gpus in (("cpu", "auto"), ("auto", "none")):
        assert places(Share(gpus=gpus), visible_devices(device, gpus), 8) == [Place(None)] * 8
    with pytest.raises(UserError, match="jobs=5 is more than the 2 GPUs take with jobs_per_gpu=2; at most 4"):
        places(Share(jobs=5, gpus="0,1", jobs_per_gpu=2), seen, 8)
    with pytest.raises(UserError, match=r"gpus=0,3 is not accepted; .*positions from 0 to 2"):
        places(Share(gpus="0,3"), seen, 8)


def test_a_worker_that_sees_one_device_calls_it_number_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv(VARIABLE, Resources(device="cuda:2", data_root="there").variables[VARIABLE])
    (place,) = places(Share(), visible_devices("cuda:2", "auto"), 8)
    for name, value in place.variables.items():
        monkeypatch.setenv(name, value)
    assert (os.environ["CUDA_VISIBLE_DEVICES"], resources().torch_device) == ("2", "cuda")
    assert resources().data_root == "there"


def test_a_run_without_memory_is_tried_once_more_alone_on_its_device_and_then_recorded(folder: Path) -> None:
    """Three runs share one device: two of them do not fit beside the others, and one of these never does."""
    words = ("methods=witness,greedy,insatiable", "problems.two-wells.start=upper", "gpus=1", "jobs_per_gpu=3")
    together = (f"methods.{name}.beside=3" for name in NAMES)
    told = mobench(folder, *words, *together, visible="GPU-a,GPU-b,GPU-c", code=1)
    seen = begun(folder)
    assert sorted(entry["method"] for entry in seen[:3]) == sorted(NAMES), "side by side"
    assert {entry["gpu"] for entry in seen} == {"GPU-b"}
    assert sorted(entry["method"] for entry in seen[3:]) == ["greedy", "insatiable"], "once more each"
    assert len({entry["pid"] for entry in seen}) == 5, "in a process without anything that the first try left"
    records = {record.spec.method.partition("@")[0]: record.outcome for record in Store(folder / "results").records()}
    assert [records[name].status for name in NAMES] == ["done", "done", "failed"]
    assert records["insatiable"].reason is not None and "out of memory" in records["insatiable"].reason
    assert "(also when it was tried again alone)" in records["insatiable"].reason
    assert "out of memory" in told
