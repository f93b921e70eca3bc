"""Loops that numba compiles when they are first called, with machine code that is kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Loop = Callable[..., None]


def compiled(**options: Any) -> Callable[[Loop], Loop]:
    """Compile at the first call, and keep the machine code on disk if there is a place for it.

    Importing numba takes most of a second: a module that uses this is imported where its loops are called.
    """
    from numba import njit

    def decorate(function: Loop) -> Loop:
        try:
            return njit(nogil=True, cache=True, **options)(function)  # type: ignore[no-any-return]
        except RuntimeError:  # neither this folder nor the user's cache can be written
            return njit(nogil=True, **options)(function)  # type: ignore[no-any-return]

    return decorate
