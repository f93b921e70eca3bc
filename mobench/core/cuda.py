"""Which CUDA devices are here, asked without loading torch where there can be none."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

NVIDIA, AMD = "libcuda.so.1", Path("/dev/kfd")
"""What comes with the driver, and not with torch: a library, or the device that torch for ROCm opens."""


def cuda_is_available() -> bool:
    """Say whether torch can use a CUDA device."""
    if not _may_be_here():
        return False
    import torch

    return torch.cuda.is_available()


def cuda_device_count() -> int:
    """Return how many CUDA devices torch sees."""
    if not _may_be_here():
        return 0
    import torch

    return torch.cuda.device_count()


def why_unusable(device: str) -> str:
    """Return torch's reason why it cannot compute on a CUDA device, as `cuda` or `cuda:1`; empty if it can.

    Nothing is allocated: a context takes hundreds of megabytes of the device.
    """
    import torch

    try:
        if not torch.cuda.is_available():
            torch.cuda.init()  # type: ignore[no-untyped-call] # says why
            return "torch.cuda.is_available() is False"
    except (RuntimeError, AssertionError) as error:
        return str(error).partition("\n")[0]
    count, (_, _, position) = torch.cuda.device_count(), device.partition(":")
    return "" if int(position or 0) < count else f"torch sees {count} CUDA device{'s' * (count > 1)}"


def why_faulty(device: str) -> str:
    """Return torch's reason why a first kernel on a CUDA device fails; empty if it computes."""
    import torch

    try:
        torch.ones(8, device=device).sum().item()
    except (RuntimeError, AssertionError) as error:
        return str(error).partition("\n")[0]
    return ""


def _may_be_here() -> bool:
    """Say whether to ask torch: it takes a second to load, and finds nothing without a driver."""
    if "torch" in sys.modules or sys.platform != "linux" or AMD.exists():
        return True
    try:
        ctypes.CDLL(NVIDIA)
    except OSError:
        return False
    return True
