"""The NVIDIA driver and its devices, as its management library (NVML) tells: no torch, no CUDA context."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import Any

NVML = "libnvidia-ml.so.1"
_TEXT = 96


@dataclass(frozen=True)
class Driver:
    """A driver that answers."""

    version: str
    cuda: tuple[int, int]
    """The latest version of CUDA that it runs."""
    devices: tuple[str, ...]
    """The names of all devices of the machine, also of those that `CUDA_VISIBLE_DEVICES` hides."""


@cache
def nvidia_driver() -> Driver | None:
    """Return the driver of this machine, None where there is none."""
    try:
        library = ctypes.CDLL(NVML)
        if library.nvmlInit_v2():
            return None
    except (OSError, AttributeError):
        return None
    try:
        return _ask(library)
    finally:
        library.nvmlShutdown()


def _ask(library: Any) -> Driver:
    """Ask an open library; what it refuses to say stays empty."""
    version, number = ctypes.create_string_buffer(_TEXT), ctypes.c_int()
    count, handle = ctypes.c_uint(), ctypes.c_void_p()
    library.nvmlSystemGetDriverVersion(version, _TEXT)
    library.nvmlSystemGetCudaDriverVersion_v2(ctypes.byref(number))
    library.nvmlDeviceGetCount_v2(ctypes.byref(count))
    names = []
    for index in range(count.value):
        name = ctypes.create_string_buffer(_TEXT)
        if not library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)):
            library.nvmlDeviceGetName(handle, name, _TEXT)
        names.append(name.value.decode(errors="replace"))
    return Driver(version.value.decode(errors="replace"), divmod(number.value // 10, 100), tuple(names))
