"""What takes seconds to load is loaded where it is needed, and not before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

RUNS = """
import sys
from mobench.cli import main

common = ["jobs=0", "seeds=[0]", "--quiet"]
assert main(["run", "problem=two-wells", "methods=pcd", "training.optimizer=adam", "training.steps=3", *common]) == 0
assert main(["run", "suite=compression", "profile=digits", "methods=pcd", "training.epochs=1", *common]) == 0
from mobench.problems.compression.data import cifar
from mobench.problems.compression.networks import build
import torch
build("resnet-narrow", 10, torch.Generator())
heavy = {"torch._dynamo", "torchvision"} & set(sys.modules)
assert not heavy, heavy
"""

DEVICES = """
import sys
from pathlib import Path
from mobench.core import cuda

cuda.AMD, cuda.NVIDIA = Path("missing"), "missing.so"
assert (cuda.cuda_device_count(), cuda.cuda_is_available(), "torch" in sys.modules) == (0, False, False)
cuda.NVIDIA = "libc.so.6"
seen = cuda.cuda_device_count(), cuda.cuda_is_available()
import torch
assert seen == (torch.cuda.device_count(), torch.cuda.is_available())
torch.cuda.device_count, cuda.NVIDIA = (lambda: 3), "missing.so"
assert cuda.cuda_device_count() == 3, "once torch is loaded, it is asked"
"""


def python(program: str, cwd: Path) -> None:
    done = subprocess.run([sys.executable, "-c", program], cwd=cwd, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_runs_load_neither_the_compiler_of_torch_nor_torchvision(tmp_path: Path) -> None:
    python(RUNS, tmp_path)


def test_torch_is_asked_for_devices_only_where_there_is_a_driver(tmp_path: Path) -> None:
    python(DEVICES, tmp_path)
