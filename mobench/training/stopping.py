"""What ends training from outside: a request to stop, and memory that ran out."""

from __future__ import annotations

_ALLOCATOR = "DefaultCPUAllocator: can't allocate memory"

_requested = False


class Stopped(BaseException):
    """Training was asked to stop, and its checkpoint is saved. Not an Exception, so that no method swallows it."""


def request_stop(requested: bool = True) -> None:
    """Ask the training loop of this process to save a checkpoint after its current step and to stop."""
    global _requested
    _requested = requested


def stop_requested() -> bool:
    """Say whether the loop is to stop."""
    return _requested


def ran_out_of_memory(error: BaseException) -> bool:
    """Say whether an error means that memory ran out, of the machine or of the device.

    It says nothing against a method: with less beside it, the same run may succeed.
    """
    import torch  # here, because the scheduler, which trains nothing, loads this file too

    if isinstance(error, (MemoryError, torch.cuda.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and _ALLOCATOR in str(error)
