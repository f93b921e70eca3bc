"""A machine with two GPUs, pretended in every process: the driver counts two, and torch believes it.

`sitecustomize` is loaded by each Python that finds it. How torch reads `CUDA_VISIBLE_DEVICES` is its own. Runs of the
problem `bowl` use a device as far as mobench knows, those of `tray` do not; both compute on the CPU. Every step of a
method writes down where it is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

MACHINE = """
import importlib.util, sys

def two_devices(torch):
    torch.cuda._raw_device_count_nvml = lambda: 2
    torch._C._cuda_getDeviceCount = torch.cuda._device_count_nvml

def a_driver(cuda):
    cuda.NVIDIA = "libc.so.6"
    cuda.why_faulty = lambda device: ""

def examined(doctor):
    doctor.refuse_unusable_devices = lambda *given: None

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

sys.meta_path[:0] = [
    After("torch", two_devices), After("mobench.core.cuda", a_driver), After("mobench.running.doctor", examined)
]
"""

PLUGIN = '''
import json, os, time
from pathlib import Path

import numpy as np
import threadpoolctl
import torch

from mobench import Method, Step, Task, TaskProblem, integer, register
from mobench.core.resources import resources

FOLDER = Path(__file__).parent / "begun"


class Bowls(Task):
    def __init__(self, generator):
        self.parameters = [torch.randn(4, generator=generator).requires_grad_()]

    def losses(self, batch):
        (x,) = self.parameters
        return [((x - 1) ** 2).sum(), ((x + 1) ** 2).sum()]

    def metrics(self):
        return {f"loss/{name}": loss.item() for name, loss in zip("ab", self.losses(None))}


@register
class Bowl(TaskProblem):
    """Two bowls, which may use a device."""

    id = "bowl@1"
    training = {"optimizer": "sgd", "lr": 0.1, "steps": 1}

    def objectives(self):
        return ("a", "b")

    def start(self, streams):
        return Bowls(streams.torch("init"))


@register
class Tray(Bowl):
    """Two bowls on the CPU."""

    id = "tray@1"
    uses_device = False


class Noting(Method):
    beside: int = integer(1, low=1, meaning="how many runs must have begun before one goes on")

    def weights(self, step: Step) -> np.ndarray:
        FOLDER.mkdir(exist_ok=True)
        seen = {
            "method": self.name, "pid": os.getpid(), "gpu": os.environ.get("CUDA_VISIBLE_DEVICES"),
            "device": resources().device, "cuda": torch.cuda.is_available(),
            "threads": [torch.get_num_threads(), *{pool["num_threads"] for pool in threadpoolctl.threadpool_info()}],
        }
        path = FOLDER / f"{time.monotonic_ns()}.json"
        path.with_suffix(".part").write_text(json.dumps(seen))
        path.with_suffix(".part").rename(path)
        while len(list(FOLDER.glob("*.json"))) < self.beside:
            time.sleep(0.01)
        return np.ones(step.k)


@register
class Witness(Noting):
    """Say where it computes."""

    name = "witness"


@register
class Greedy(Noting):
    """Memory runs out on the first try."""

    name = "greedy"

    def weights(self, step: Step) -> np.ndarray:
        weights = super().weights(step)
        if sum(json.loads(path.read_text())["method"] == self.name for path in FOLDER.glob("*.json")) == 1:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3.00 GiB.")
        return weights


@register
class Insatiable(Noting):
    """Memory always runs out."""

    name = "insatiable"

    def weights(self, step: Step) -> np.ndarray:
        super().weights(step)
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3.00 GiB.")


@register
class Asserting(Noting):
    """An index is wrong: a kernel fails wherever it runs."""

    name = "asserting"

    def weights(self, step: Step) -> np.ndarray:
        super().weights(step)
        raise torch.AcceleratorError(
            "CUDA error: device-side assert triggered\\n"
            "CUDA kernel errors might be asynchronously reported at some other API call.\\n"
            "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions."
        )


@register
class Picky(Noting):
    """The first GPU is broken, or breaks after some runs; until it has failed four times, others wait for it."""

    name = "picky"
    after: int = integer(0, low=0, meaning="how many runs it does before")

    def weights(self, step: Step) -> np.ndarray:
        weights = super().weights(step)
        while os.environ["CUDA_VISIBLE_DEVICES"] != "0" and self.tried_on_first() < 4:
            time.sleep(0.01)
        if os.environ["CUDA_VISIBLE_DEVICES"] == "0" and self.tried_on_first() > self.after:
            raise torch.AcceleratorError("CUDA error: uncorrectable ECC error encountered\\nCompile with ...")
        return weights

    def tried_on_first(self):
        return sum(json.loads(path.read_text())["gpu"] == "0" for path in FOLDER.glob("*.json"))
'''


def prepare(folder: Path) -> None:
    """Write what makes the machine, and the plugin, into the folder in which commands run."""
    (folder / "sitecustomize.py").write_text(MACHINE)
    (folder / "witness.py").write_text(PLUGIN)


def mobench(folder: Path, *words: str, code: int = 0) -> str:
    """Run `mobench run` on that machine, and return what it printed."""
    environment = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    environment |= {"PYTHONPATH": str(folder), "COLUMNS": "300"}
    line = [sys.executable, "-m", "mobench", "run", "plugins=witness.py", *words]
    done = subprocess.run(line, cwd=folder, env=environment, text=True, capture_output=True, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def begun(folder: Path) -> list[dict[str, Any]]:
    """Return what the runs saw, in the order in which they began."""
    return [json.loads(path.read_text()) for path in sorted((folder / "begun").glob("*.json"))]
