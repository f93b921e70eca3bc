"""One thread for what must not depend on how many there are: their number can change the last digit of a sum."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_pools: Any = None
_modules = 0


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread of torch and of every BLAS library within this block or decorated function."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with _thread_pools().limit(limits=1):
            yield
    finally:
        torch.set_num_threads(threads)


def _thread_pools() -> Any:
    """Find the loaded libraries with thread pools; they come with modules, and finding them takes milliseconds."""
    global _pools, _modules
    if _modules != len(sys.modules):
        import threadpoolctl  # type: ignore[import-untyped]

        _pools, _modules = threadpoolctl.ThreadpoolController(), len(sys.modules)
    return _pools
