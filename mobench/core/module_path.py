"""Python processes that find the modules that this one finds, and not a user's `statistics.py` in their stead."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VARIABLE, VALUE = "PYTHONSAFEPATH", "by mobench"
"""What keeps Python from looking into the working folder, and a value that tells who set it."""


@contextmanager
def same_module_path() -> Iterator[None]:
    """Start no Python process meanwhile that looks for modules in the working folder, unless this one does.

    Multiprocessing starts processes by `python -c`, which looks there first, while a command does not. The processes
    get this one's path later, when most is loaded.
    """
    if VARIABLE in os.environ or not {"", str(Path.cwd())}.isdisjoint(sys.path):
        yield
        return
    os.environ[VARIABLE] = VALUE
    try:
        yield
    finally:
        forget_module_path()


def forget_module_path() -> None:
    """Let processes that this one starts look where they would; for one that was itself started so."""
    if os.environ.get(VARIABLE) == VALUE:
        del os.environ[VARIABLE]
