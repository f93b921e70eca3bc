"""LAPACK's routines, loaded when one is first asked for.

Commands that read results import every method for what it declares, and solve nothing; `scipy.linalg` would take them
a fifth of a second.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    found = globals()[name] = getattr(import_module("scipy.linalg.lapack"), name)
    return found
