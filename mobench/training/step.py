"""One step: a method sees the losses, chooses its update, and the update is written to where it goes.

The trainer, `MultiObjective`, `combine`, the battery and the benchmarks all take their steps here; they differ in
where the gradients come from and where the update goes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from mobench.core.method import GradientSource, Matrix, Method, Step, Vector, checked_weights
from mobench.core.registry import find_method
from mobench.errors import MethodError, NonFiniteAnswerError, UserError


class Gradients(GradientSource, Protocol):
    """The gradients of a step, and where its update is written."""

    @property
    def n(self) -> int:
        """The length of an update."""
        ...

    def apply(self, weights: Vector) -> None:
        """Write `Σ_i w_i g_i`."""
        ...

    def apply_direction(self, direction: Tensor) -> None:
        """Write an n-vector."""
        ...


class Update(NamedTuple):
    """What a method chose."""

    weights: Vector | None
    """The K weights, None for a direction of its own."""
    seconds: float
    """The method's own time, without that of the gradients it read."""


def build_method(method: str | Method, hyperparameters: Mapping[str, Any]) -> Method:
    """Return the method called by that name with its hyperparameters, or the given object as it is."""
    if isinstance(method, str):
        method, hyperparameters = find_method(method)(**hyperparameters), {}
    if not isinstance(method, Method):
        raise UserError(f"method is {method!r}; it takes the name of a registered method, or a Method object")
    if hyperparameters:
        given = ", ".join(hyperparameters)
        raise UserError(
            f"{given} given beside a {type(method).__name__} object; pass hyperparameters to its constructor"
        )
    if method.takes_proximal_steps:
        raise UserError(
            f"{method.name} needs a problem that takes its proximal steps; in a training loop of your own, step on the "
            "primary loss alone and apply the proximal map after the optimizer's step"
        )
    return method


class StepWithoutLosses(Step):
    """A step for which only gradients are known: reading the losses is an error."""

    __slots__ = ("_k",)

    @property
    def losses(self) -> Vector:
        """Refuse: no losses were given."""
        raise UserError("the method reads the losses and none were given; pass losses=, one number for each gradient")

    @losses.setter
    def losses(self, placeholders: Vector) -> None:
        self._k = len(placeholders)

    @property
    def k(self) -> int:
        return self._k


def make_step(
    losses: Vector | None,
    k: int,
    source: GradientSource,
    lower_bounds: Sequence[float] | None,
    iteration: int,
    total_steps: int | None = None,
    held_out: Callable[[], Step | None] | None = None,
    second_batch: Callable[[], Step | None] | None = None,
    steps_per_epoch: int | None = None,
) -> Step:
    """Return the step a method sees; `losses` is None where only the `k` gradients are known."""
    bounds = None if lower_bounds is None else np.asarray(lower_bounds, dtype=np.float64)
    if bounds is not None and bounds.shape != (k,):
        raise UserError(f"lower_bounds={bounds.tolist()} has {bounds.size} entries; there are {k} objectives")
    kind, values = (StepWithoutLosses, np.zeros(k)) if losses is None else (Step, losses)
    return kind(
        values, source, bounds, iteration, total_steps, held_out,
        second_batch=second_batch, steps_per_epoch=steps_per_epoch,
    )  # fmt: skip


def take_step(method: Method, step: Step, gradients: Gradients) -> Update:
    """Let `method` choose its update for `step`, and write it: `Σ_i w_i g_i`, or its own direction."""
    own = method.overrides("direction")
    started = time.perf_counter()
    chosen = _checked_direction(method, step, gradients.n) if own else checked_weights(method, step)
    seconds = time.perf_counter() - started - step.seconds_of_others
    if isinstance(chosen, Tensor):
        gradients.apply_direction(chosen)
        return Update(None, seconds)
    gradients.apply(chosen)
    return Update(chosen, seconds)


def take_steps(methods: Sequence[Method], steps: Sequence[Step]) -> tuple[Matrix, float]:
    """Ask methods of one class together; return the B×K weights, and each method's share of their own time.

    Whether a row is finite is left to the caller, who knows whose run it is.
    """
    started = time.perf_counter()
    first, shape = methods[0], (len(steps), steps[0].k)
    chosen = np.asarray(first.weights_of_all(methods, steps), dtype=np.float64)
    if chosen.shape != shape:
        raise MethodError(f"{first.name}.weights_of_all returned shape {chosen.shape}; {shape} is needed")
    seconds = time.perf_counter() - started - sum(step.seconds_of_others for step in steps)
    return chosen, seconds / len(steps)


def _checked_direction(method: Method, step: Step, n: int) -> Tensor:
    """Ask `method` for its direction and refuse what is no n-vector or not finite."""
    direction = method.direction(step)
    if not isinstance(direction, Tensor) or direction.shape != (n,):
        returned = f"shape {tuple(direction.shape)}" if isinstance(direction, Tensor) else type(direction).__name__
        raise MethodError(f"{method.name}.direction returned {returned}; it must be a tensor of shape ({n},)")
    # a sum is finite only if every term is, and costs less than looking at each
    if not math.isfinite(direction.detach().sum()) and not torch.isfinite(direction).all():
        raise NonFiniteAnswerError(f"{method.name} returned a non-finite direction at iteration {step.iteration}")
    return direction.detach()
