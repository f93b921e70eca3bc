"""What ends training from outside: a request to stop, memory that ran out, and faults of a device."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator

_MEMORY = re.compile(
    r"out of memory|OUT_OF_MEMORY|ALLOC_FAILED|ALLOCATION_FAILED|std::bad_alloc"
    r"|DefaultCPUAllocator: (can't allocate|not enough) memory|[Cc]annot allocate memory"
)
"""What torch, its CUDA libraries and the system say when there is no more memory."""
_DEVICE = re.compile(
    r"CUDA (driver |NVRTC )?error|CUDA kernel errors|HIP error|cuDNN error|cuFFT error|cusolver error|MIOpen"
    r"|\b(CUDNN|CUBLAS|CUSOLVER|CUSPARSE|CUFFT|HIPBLAS)_STATUS_[A-Z]"
)
"""What they say when a device or its driver failed."""

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
    return any(_says_no_memory(cause) for cause in _causes(error))


def is_device_fault(error: BaseException) -> bool:
    """Say whether an error means that the device failed, and with it every later call of this process.

    A matrix that a solver gives up on is no fault of the device.
    """
    import torch

    faults = getattr(torch, "AcceleratorError", ())
    found = [cause for cause in _causes(error) if isinstance(cause, RuntimeError)]
    found = [cause for cause in found if not isinstance(cause, torch.linalg.LinAlgError)]  # type: ignore[attr-defined]
    return any(isinstance(cause, faults) or _DEVICE.search(str(cause)) for cause in found)


def is_of_the_machine(error: BaseException) -> bool:
    """Say whether memory or the device is to blame, and not the run."""
    return ran_out_of_memory(error) or is_device_fault(error)


def _says_no_memory(error: BaseException) -> bool:
    import torch  # here, because the scheduler, which trains nothing, loads this file too

    if isinstance(error, (MemoryError, torch.cuda.OutOfMemoryError)):
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, RuntimeError) and _MEMORY.search(str(error)) is not None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and those that led to it: a method may have put its own in their place."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
