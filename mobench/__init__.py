"""mobench: a benchmark suite for multi-objective optimizers in deep learning.

What users need stands here; it is imported when first used, so that `import mobench` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mobench.core.about import Formula, Look, Reference
    from mobench.core.method import Method, Step
    from mobench.core.metric import Metric
    from mobench.core.objective import KnownGradient
    from mobench.core.operating_points import Axis, Bounds, Hypervolume, OperatingPoint
    from mobench.core.plot import Plot
    from mobench.core.problem import Problem, Task, TaskProblem, VectorProblem
    from mobench.core.registry import register
    from mobench.core.settings import choice, flag, integer, real, reals, text
    from mobench.errors import MethodError, NonFiniteError, UserError
    from mobench.training.combine import combine
    from mobench.training.multi_objective import MultiObjective

_HOMES = {
    "core.about": ("Formula", "Look", "Reference"),
    "core.method": ("Method", "Step"),
    "core.metric": ("Metric",),
    "core.objective": ("KnownGradient",),
    "core.plot": ("Plot",),
    "core.operating_points": ("Axis", "Bounds", "Hypervolume", "OperatingPoint"),
    "core.problem": ("Problem", "Task", "TaskProblem", "VectorProblem"),
    "core.registry": ("register",),
    "core.settings": ("choice", "flag", "integer", "real", "reals", "text"),
    "errors": ("MethodError", "NonFiniteError", "UserError"),
    "training.combine": ("combine",),
    "training.multi_objective": ("MultiObjective",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Axis",
    "Bounds",
    "Formula",
    "Hypervolume",
    "KnownGradient",
    "Look",
    "Method",
    "MethodError",
    "Metric",
    "MultiObjective",
    "NonFiniteError",
    "OperatingPoint",
    "Plot",
    "Problem",
    "Reference",
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


def __dir__() -> list[str]:
    return sorted([*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__", "__version__"])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("mobench")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'mobench' has no attribute '{name}'")
    value = getattr(import_module(f"mobench.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
