"""Torch's optimizers and learning-rate schedulers by name; their arguments are checked before anything runs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from mobench.core.torch_compiler import leave_compiler_out
from mobench.errors import UserError, spelled, unknown

if TYPE_CHECKING:
    import torch

NEEDS_MORE_THAN_GRADIENTS = ("optimizer", "lbfgs", "sparseadam")
"""The base class, one that evaluates the loss itself, and one for sparse gradients."""
NEEDS_MORE_THAN_TIME = (
    "lrscheduler",
    "reducelronplateau",
    "lambdalr",
    "multiplicativelr",
    "sequentiallr",
    "chainedscheduler",
)
"""The base class, and those that watch a metric or are made of functions or of other schedulers."""
NOT_ARGUMENTS = {
    *("self", "params", "optimizer", "lr", "weight_decay", "last_epoch", "verbose"),
    *("fused", "foreach", "capturable", "differentiable", "maximize"),
    *("cycle_momentum", "base_momentum", "max_momentum"),
}
"""What mobench sets itself, and what changes how a step is computed or which way it goes."""


@cache
def optimizers() -> dict[str, type[torch.optim.Optimizer]]:
    """Return the optimizers of the installed torch by their class names in lower case."""
    import torch

    leave_compiler_out(torch.optim.Optimizer)
    classes = [value for value in vars(torch.optim).values() if inspect.isclass(value)]
    found = {kind.__name__.lower(): kind for kind in classes if issubclass(kind, torch.optim.Optimizer)}
    return {name: kind for name, kind in found.items() if name not in NEEDS_MORE_THAN_GRADIENTS}


@cache
def schedulers() -> dict[str, type[torch.optim.lr_scheduler.LRScheduler]]:
    """Return the schedulers that depend on time alone, by their class names in lower case."""
    from torch.optim import lr_scheduler

    classes = [value for value in vars(lr_scheduler).values() if inspect.isclass(value)]
    found = {kind.__name__.lower(): kind for kind in classes if issubclass(kind, lr_scheduler.LRScheduler)}
    return {name: kind for name, kind in found.items() if name not in NEEDS_MORE_THAN_TIME and not name.startswith("_")}


def check_arguments(key: str, kind: type, given: Mapping[str, Any]) -> None:
    """Refuse arguments that the class does not take, or that are plainly of another type than their defaults."""
    accepted = {name: parameter for name, parameter in _parameters(kind).items() if name not in NOT_ARGUMENTS}
    for name, value in given.items():
        if name not in accepted:
            raise unknown(f"argument of {key}:", name, accepted)
        default = accepted[name].default
        if isinstance(default, bool) is not isinstance(value, bool) and default is not inspect.Parameter.empty:
            words = "true or false" if isinstance(default, bool) else "a number"
            raise UserError(f"{key}.{name}={spelled(value)} is not accepted; it takes {words}")


def build_optimizer(
    name: str, parameters: Any, *, lr: float, weight_decay: float, **arguments: Any
) -> torch.optim.Optimizer:
    """Return the named optimizer over `parameters`."""
    kind = optimizers()[name]
    if "weight_decay" in _parameters(kind):
        arguments["weight_decay"] = weight_decay
    elif weight_decay:
        raise ValueError("it has no weight decay")
    return kind(parameters, lr=lr, **arguments)  # type: ignore[call-arg]


@cache
def learning_rates(name: str, lr: float, units: int, arguments: tuple[tuple[str, Any], ...]) -> tuple[float, ...]:
    """Return the learning rate of each of `units` steps or epochs, as torch's scheduler sets it.

    The length of the run (`T_max`, `total_steps`) and the peak (`max_lr`) are the run's own where they are not given.
    """
    import torch

    kind, given = schedulers()[name], dict(arguments)
    parameters = _parameters(kind)
    known = {"T_max": units, "total_steps": units, "max_lr": lr, "cycle_momentum": False}
    given |= {key: value for key, value in known.items() if key in parameters and key not in given}
    for key, parameter in parameters.items():
        if key not in ("self", "optimizer") and parameter.default is inspect.Parameter.empty and key not in given:
            raise UserError(f"training.schedule={name} needs training.schedule.{key}=VALUE")
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr)
    scheduler = kind(optimizer, **given)
    rates = []
    for _ in range(units):
        rates.append(float(optimizer.param_groups[0]["lr"]))
        optimizer.step()
        scheduler.step()
    return tuple(rates)


def _parameters(kind: type) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(kind.__init__).parameters  # type: ignore[misc]
