"""Where a run ran: library versions, hardware and code revision."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from dataclasses import replace
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil

from mobench.core.nvidia_driver import nvidia_driver
from mobench.core.resources import resources
from mobench.store.record import Environment

LIBRARIES = ("mobench", "torch", "numpy", "scipy")


@cache
def environment() -> Environment:
    """Describe this process's environment; read once, about 20 ms."""
    return Environment(
        versions={
            "python": platform.python_version(),
            **{name: _version(name) for name in LIBRARIES},
            "torch": _torch_version(),
        },
        hardware={
            "cpu": _cpu_model(),
            "cores": psutil.cpu_count(logical=True),
            "memory_bytes": psutil.virtual_memory().total,
            "system": f"{platform.system()} {platform.release()}",
            "device": "cpu",
        },
        code=revision(Path(__file__).resolve().parent.parent),
    )


def on_device(found: Environment, device: str, jobs_per_gpu: int = 1, tf32: str = "auto") -> Environment:
    """Return the environment with the name of the torch device that does the work, and how it computes.

    To be called in the process that has computed, which knows the flags of torch; where the run's training says
    `tf32=true` or `false`, they were so meanwhile. A CPU has neither TF32 nor libraries of CUDA, and shares nothing.
    """
    machine = resources()
    way: dict[str, Any] = {"deterministic": machine.deterministic, "channels_last": machine.channels_last}
    versions = dict(found.versions)
    if device.startswith("cuda"):
        flags = tf32_flags() if tf32 == "auto" else dict.fromkeys(tf32_flags(), tf32 == "true")
        way |= {"capability": capability(device), **flags, "jobs_per_gpu": jobs_per_gpu}
        versions |= device_versions()
    return replace(found, versions=versions, hardware={**found.hardware, "device": _device_name(device), **way})


def device_versions() -> dict[str, str | None]:
    """Return the versions of what torch computes with on a CUDA device, and of the driver."""
    import torch

    cudnn = torch.backends.cudnn.version()  # type: ignore[no-untyped-call]
    driver = nvidia_driver()
    return {
        "cuda": torch.version.cuda or torch.version.hip,
        "cudnn": None if cudnn is None else str(cudnn),
        "driver": driver.version if driver is not None else None,
    }


def capability(device: str) -> str:
    """Return the compute capability of a CUDA device, e.g. `8.0`."""
    import torch

    return ".".join(map(str, torch.cuda.get_device_capability(device)))


def tf32_flags() -> dict[str, bool]:
    """Say whether torch may round factors of float32 to ten bits, in convolutions and in products of matrices.

    Devices below capability 8.0 cannot. Torch refuses to tell its older flags where its newer ones were set, and has
    no newer ones before 2.9.
    """
    import torch

    backends: Any = torch.backends
    newer = getattr(backends.cudnn, "conv", None)
    if newer is None:
        return {"tf32_convolutions": backends.cudnn.allow_tf32, "tf32_products": backends.cuda.matmul.allow_tf32}

    def is_tf32(own: str) -> bool:
        return (backends.fp32_precision if own == "none" else own) == "tf32"

    return {
        "tf32_convolutions": is_tf32(newer.fp32_precision),
        "tf32_products": is_tf32(backends.cuda.matmul.fp32_precision),
    }


def revision(package: Path) -> dict[str, Any] | None:
    """Return commit and dirty flag of the git checkout that tracks `package`, if there is one.

    An installed copy inside another repository is not tracked by it, so that repository's commit is
    not ours. Only changes of Python and YAML files count as dirty: results do not.
    """
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    commit = _git(package, "rev-parse", "--verify", "HEAD")
    changes = _git(package, "status", "--porcelain", "--", ":(top)*.py", ":(top)*.yaml")
    if commit is None or changes is None:
        return None
    return {"commit": commit, "dirty": bool(changes)}


def _git(folder: Path, *arguments: str) -> str | None:
    """Return git's answer, or None where git is missing or refuses."""
    # Inside a git hook these variables point to another repository.
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        answer = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, env=variables, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None


def _version(library: str) -> str | None:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None


def _torch_version() -> str | None:
    """Return `torch.__version__`, whose local part names the build, e.g. `2.6.0+cu124`, without loading torch.

    The metadata of wheels from PyPI leave that part out.
    """
    found = find_spec("torch")
    file = Path(found.origin).with_name("version.py") if found is not None and found.origin else None
    if file is not None and file.exists():
        told = re.search(r"^__version__ = '([^']+)'", file.read_text(), re.MULTILINE)
        if told is not None:
            return told[1]
    return _version("torch")


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _device_name(device: str) -> str:
    if not device.startswith("cuda"):
        return device
    import torch

    return f"{device} ({torch.cuda.get_device_name(device)})"
