"""Memory that torch has freed stays with the process, to be given out again.

A step allocates and frees the same tensors as the one before. glibc gives large pieces back to the system at once, and
each page of the next piece is then zeroed and mapped anew: on CIFAR-10 that is a fifth of a small network's training
step. So while a worker trains it keeps what it has, and between two jobs it gives back what is free.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4
"""Parameters of `mallopt`, as in malloc.h."""
_LARGEST = 2**31 - 1
_STEP = 64 * 2**20
"""By how many bytes the heap grows at least."""


def _glibc() -> ctypes.CDLL | None:
    """Return the C library if it is glibc, which has these functions."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None


def keep_freed_memory() -> bool:
    """Let this process keep memory that it frees; return whether its C library can."""
    library = _glibc()
    if library is None:
        return False
    settings = ((_MMAP_MAX, 0), (_TRIM_THRESHOLD, _LARGEST), (_TOP_PAD, _STEP))
    return all(bool(library.mallopt(name, value)) for name, value in settings)


def give_back_freed_memory() -> None:
    """Return to the system what is free in this process."""
    library = _glibc()
    if library is not None:
        library.malloc_trim(0)


@contextmanager
def without_collection() -> Iterator[None]:
    """Do not look for objects that hold each other meanwhile: a command that soon ends has no use for their memory."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
