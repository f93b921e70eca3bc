"""What is asked of a device before the first run, and what comes back; the answers are found in `probes.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mobench.core.spec import RunSpec

BUILDS = "https://pytorch.org/get-started/locally lists builds"
HELPS = {
    "driver": "`nvidia-smi` has to answer; without a driver device=cpu works",
    "torch": f"Install torch anew ({BUILDS}); device=cpu goes on without the GPU",
    "device": "The device is lost, or held by somebody else: see `nvidia-smi`, or choose another one by gpus=N",
    "kernel": (
        f"The device cannot compute with this torch: try a build for an older CUDA ({BUILDS}), another device "
        "(gpus=N), or device=cpu"
    ),
    "convolution": (
        "cuDNN cannot be used: install torch in a clean environment, without LD_LIBRARY_PATH of another CUDA; "
        "precision=float32 needs no bf16, channels_last=false takes other kernels"
    ),
    "eigh": (
        "cuSOLVER cannot be used: nuclear norms (penalty l1-nuclear, suite low-rank) need it, other penalties do not"
    ),
    "tf32": "This version of torch does not tell its flags: mobench needs torch from 2.4",
    "resume": (
        "A run that is interrupted would not go on as it was: leave this method or problem out where jobs have a time "
        "limit"
    ),
    "data": "`mobench run` fetches missing data into data.root where there is a network",
    "steps": "Leave this network out by problems=NAME, or change the settings that its message names",
}
"""What to do where a probe raises."""


@dataclass(frozen=True)
class Probe:
    """What is probed."""

    name: str
    precision: str = ""
    """Of a convolution."""
    spec: RunSpec | None = None
    """The run whose data is looked at, or whose steps are taken."""
    seconds: float = 0.0
    """How long these steps may take."""

    @property
    def title(self) -> str:
        """The name as it is printed."""
        return f"{self.name} {self.precision}".rstrip()


@dataclass(frozen=True)
class ProbeResult:
    """The answer of a probe."""

    probe: str
    verdict: Literal["ok", "note", "failed"]
    says: str
    helps: str = ""
    """What to do about a failure."""
    numbers: Mapping[str, Any] = field(default_factory=dict)
