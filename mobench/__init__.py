"""mobench: a benchmark suite for multi-objective optimizers in deep learning.

What users need stands here; it is imported when first used, so that `import mobench` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mobench.combination import combine
    from mobench.errors import MethodError, NonFiniteError, UserError
    from mobench.frontend import MultiObjective
    from mobench.method import Method, Step
    from mobench.objective import KnownGradient
    from mobench.problem import Bounds, Problem, Task, TaskProblem, VectorProblem
    from mobench.registry import register
    from mobench.settings import choice, flag, integer, real, reals, text

_HOMES = {
    "combination": ("combine",),
    "errors": ("MethodError", "NonFiniteError", "UserError"),
    "frontend": ("MultiObjective",),
    "method": ("Method", "Step"),
    "objective": ("KnownGradient",),
    "problem": ("Bounds", "Problem", "Task", "TaskProblem", "VectorProblem"),
    "registry": ("register",),
    "settings": ("choice", "flag", "integer", "real", "reals", "text"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Bounds",
    "KnownGradient",
    "Method",
    "MethodError",
    "MultiObjective",
    "NonFiniteError",
    "Problem",
    "Step",
    "Task",
    "TaskProblem",
    "UserError",
    "VectorProblem",
    "choice",
    "combine",
    "flag",
    "integer",
    "real",
    "reals",
    "register",
    "text",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'mobench' has no attribute '{name}'")
    value = getattr(import_module(f"mobench.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
