"""Let modules say `import torch` at their top without loading torch until they use it.

Torch takes seconds and half a gigabyte. Commands that only read results import every problem's file for what it
declares, and none of them computes anything.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


class _Deferred(ModuleType):
    """A module that is imported when one of its attributes is asked for, and then replaced wherever it is kept."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        real = importlib.import_module(self.__name__)
        for module in list(sys.modules.values()):
            names = [key for key, value in list(vars(module).items()) if value is self]
            for key in names:
                setattr(module, key, real)
        return getattr(real, name)


@contextmanager
def deferred(name: str) -> Iterator[None]:
    """Within this block, `import name` in a module gives a stand-in, unless the module is loaded already."""
    if name in sys.modules:
        yield
        return
    stand_in = sys.modules[name] = _Deferred(name)
    try:
        yield
    finally:
        if sys.modules.get(name) is stand_in:
            del sys.modules[name]
