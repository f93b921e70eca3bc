"""Which of two ways a computation goes: what is best on a CPU, or what every other device takes.

A CPU has loops of its own: compiled kernels, a core for each layer, and reading a number costs nothing. A
device wants few operations, each over much memory, and to be waited for as seldom as possible. A block under
`forced_device_path` takes the device's way on the CPU too, so that it can be tested and counted anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_forced: ContextVar[bool] = ContextVar("device_path", default=False)


def as_on_cpu(device: torch.device) -> bool:
    """Say whether a computation on `device` goes the CPU's way."""
    return device.type == "cpu" and not _forced.get()


@contextmanager
def forced_device_path() -> Iterator[None]:
    """Compute as a device would, also on the CPU."""
    token = _forced.set(True)
    try:
        yield
    finally:
        _forced.reset(token)


def require_one_device(*tensors: torch.Tensor) -> None:
    """Raise if tensors are on several devices: a copy between them would be slow and go unnoticed."""
    first = tensors[0].device
    other = next((tensor.device for tensor in tensors if tensor.device != first), first)
    if other != first:
        raise RuntimeError(f"tensors are on several devices, {first} and {other}; all must be on one")
