"""Peak memory of a block of code."""

from __future__ import annotations

import os
import resource
import sys
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Literal

import psutil

from mobench.store.record import PeakMemory

_RESET = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")


class MemoryMeter:
    """Measure the peak between entering and leaving.

    Linux keeps the highest resident set as `VmHWM`, and writing 5 to `/proc/self/clear_refs` resets
    it. Elsewhere, or where that is forbidden, only the peak of the whole process (`ru_maxrss`) is known.
    """

    def __init__(self) -> None:
        self._before = 0
        self._reset = False
        self._resident = 0
        self._device_before = 0
        self._device: int | None = None

    def __enter__(self) -> MemoryMeter:
        self._before = _process(os.getpid()).memory_info().rss
        self._reset = _reset_peak()
        self._device_before = sum(map(_reset_device_peak, _devices()))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._resident = _peak_since_reset() if self._reset else _peak_of_process()
        peak = sum(map(_device_peak, _devices()))
        self._device = peak if peak > self._device_before else None

    def peak(self, runs: int) -> PeakMemory:
        """Return what was measured; `runs` shared it."""
        scope: Literal["training", "process"] = "training" if self._reset else "process"
        return PeakMemory(self._resident, self._before, scope, runs, self._device)


@cache
def _process(pid: int) -> psutil.Process:
    """Return this process; to make the object takes longer than to ask it. A fork is another process."""
    return psutil.Process(pid)


def _devices() -> range:
    """Return the CUDA devices of this process, none as long as nothing has used CUDA."""
    torch = sys.modules.get("torch")
    return range(torch.cuda.device_count()) if torch is not None and torch.cuda.is_initialized() else range(0)


def _reset_device_peak(device: int) -> int:
    """Return the memory that is allocated now; the peak restarts from there."""
    import torch

    torch.cuda.reset_peak_memory_stats(device)
    return torch.cuda.memory_allocated(device)


def _device_peak(device: int) -> int:
    import torch

    return torch.cuda.max_memory_allocated(device)


def _reset_peak() -> bool:
    try:
        _RESET.write_text("5")
    except OSError:
        return False
    return True


def _peak_since_reset() -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"{_STATUS} has no VmHWM line although its peak could be reset")


def _peak_of_process() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
