"""Loops that numba compiles. A module that uses this is imported by who needs its loops, when they are needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

Loop = Callable[..., Any]


def compiled(signature: str | None = None, **options: Any) -> Callable[[Loop], Loop]:
    """Compile at the first call, or at once for a `signature`; keep the machine code on disk if there is a place."""

    def decorate(function: Loop) -> Loop:
        given = () if signature is None else (signature,)
        try:
            return njit(*given, nogil=True, cache=True, **options)(function)  # type: ignore[no-any-return]
        except RuntimeError:  # neither this folder nor the user's cache can be written
            return njit(*given, nogil=True, **options)(function)  # type: ignore[no-any-return]

    return decorate
