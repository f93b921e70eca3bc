"""mobench: a benchmark suite for multi-objective optimizers in deep learning.

What users need stands here; it is imported when first used, so that `import mobench` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mobench.core.method import Method, Step
    from mobench.core.objective import KnownGradient
    from mobench.core.problem import Bounds, Problem, Task, TaskProblem, VectorProblem
    from mobench.core.registry import register
    from mobench.core.settings import choice, flag, integer, real, reals, text
    from mobench.errors import MethodError, NonFiniteError, UserError
    from mobench.training.combine import combine
    from mobench.training.multi_objective import MultiObjective

_HOMES = {
    "core.method": ("Method", "Step"),
    "core.objective": ("KnownGradient",),
    "core.problem": ("Bounds", "Problem", "Task", "TaskProblem", "VectorProblem"),
    "core.registry": ("register",),
    "core.settings": ("choice", "flag", "integer", "real", "reals", "text"),
    "errors": ("MethodError", "NonFiniteError", "UserError"),
    "training.combine": ("combine",),
    "training.multi_objective": ("MultiObjective",),
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
