"""Where a run ran: library versions, hardware and code revision."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from mobench.core.resources import resources
from mobench.store.record import Environment

LIBRARIES = ("mobench", "torch", "numpy", "scipy")


@cache
def environment() -> Environment:
    """Describe this process's environment; read once, about 20 ms."""
    return Environment(
        versions={"python": platform.python_version(), **{name: _version(name) for name in LIBRARIES}},
        hardware={
            "cpu": _cpu_model(),
            "cores": psutil.cpu_count(logical=True),
            "memory_bytes": psutil.virtual_memory().total,
            "system": f"{platform.system()} {platform.release()}",
            "device": "cpu",
        },
        code=revision(Path(__file__).resolve().parent.parent),
    )


def on_device(found: Environment, device: str) -> Environment:
    """Return the environment with the name of the torch device that does the work, and how it computes."""
    machine = resources()
    way = {"deterministic": machine.deterministic, "channels_last": machine.channels_last}
    return replace(found, hardware={**found.hardware, "device": _device_name(device), **way})


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
