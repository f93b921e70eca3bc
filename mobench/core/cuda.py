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


def _may_be_here() -> bool:
    """Say whether to ask torch: it takes a second to load, and finds nothing without a driver."""
    if "torch" in sys.modules or sys.platform != "linux" or AMD.exists():
        return True
    try:
        ctypes.CDLL(NVIDIA)
    except OSError:
        return False
    return True
