"""The work that is measured: each function sets it up, with fixed seeds, and returns it as a call."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec

Kernel = Callable[[], object]
"""Does the same work at every call."""

Parameters = ParamSpec("Parameters")

WARM_CALLS = 3
WARM_SECONDS = 0.1


def built_once(build: Callable[Parameters, Kernel]) -> Callable[Parameters, Kernel]:
    """Make a builder return the same kernel for the same parameters, already warm.

    The first calls of a kernel fill caches and touch new memory. asv takes the benchmark's first call,
    which builds the kernel, for its warm-up; so the kernel is called here until that is over.
    """

    @wraps(build)
    def warm(*positional: Parameters.args, **named: Parameters.kwargs) -> Kernel:
        kernel = build(*positional, **named)
        started = time.perf_counter()
        for _ in range(WARM_CALLS):
            kernel()
            if time.perf_counter() - started > WARM_SECONDS:
                break
        return kernel

    return cache(warm)  # type: ignore[return-value]
