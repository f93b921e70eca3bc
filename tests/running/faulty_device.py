"""A device that fails under a run of one seed: from then on every operation of torch raises in that process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from mobench.core.outcome import Outcome
from mobench.core.spec import RunSpec
from mobench.training import loop

LOG = "MOBENCH_TEST_FAULTS"
"""The file in which every group writes its first seed, its process, and whether it goes on from a saved state."""
SEED = 4
MESSAGE = (
    "CUDA error: device-side assert triggered\n"
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
    "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)

_broken = False


class Device(TorchDispatchMode):
    """All operations of torch, which fail once a state is saved, and from then on."""

    def __init__(self, checkpoint: Path | None) -> None:
        super().__init__()
        self._fails_after = checkpoint

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        global _broken
        _broken = _broken or (self._fails_after is not None and self._fails_after.exists())
        if _broken:
            raise torch.AcceleratorError(MESSAGE)
        return function(*args, **(kwargs or {}))


def train(group: Sequence[RunSpec], checkpoint: Path | None = None) -> Sequence[Outcome]:
    """Train; the first time that the run of one seed has saved its state, the device fails."""
    assert checkpoint is not None
    resumed = checkpoint.exists()
    first = LOG in os.environ and group[0].seed == SEED and not resumed
    if LOG in os.environ:
        with Path(os.environ[LOG]).open("a") as log:
            log.write(f"{group[0].seed} {os.getpid()} {int(resumed)}\n")
    if not first and not _broken:
        return loop.train(group, checkpoint)
    with Device(checkpoint if first else None):
        return loop.train(group, checkpoint, 0.0)
