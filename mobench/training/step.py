"""Asking a method for its update: by weights or by a direction of its own, checked either way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mobench.core.method import GradientSource, Method, Step, Vector, checked_weights
from mobench.core.registry import find_method
from mobench.errors import MethodError, NonFiniteError, UserError


def build_method(method: str | Method, hyperparameters: Mapping[str, Any]) -> Method:
    """Return the method called by that name with its hyperparameters, or the given object as it is."""
    if isinstance(method, str):
        return find_method(method)(**hyperparameters)
    if not isinstance(method, Method):
        raise UserError(f"method is {method!r}; it takes the name of a registered method, or a Method object")
    if hyperparameters:
        given = ", ".join(hyperparameters)
        raise UserError(
            f"{given} given beside a {type(method).__name__} object; pass hyperparameters to its constructor"
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
    losses: Vector | None, k: int, source: GradientSource, lower_bounds: Sequence[float] | None, iteration: int
) -> Step:
    """Return the step a method sees; `losses` is None where only the `k` gradients are known."""
    bounds = None if lower_bounds is None else np.asarray(lower_bounds, dtype=np.float64)
    if bounds is not None and bounds.shape != (k,):
        raise UserError(f"lower_bounds={bounds.tolist()} has {bounds.size} entries; there are {k} objectives")
    if losses is None:
        return StepWithoutLosses(np.zeros(k), source, bounds, iteration)
    return Step(losses, source, bounds, iteration)


def chosen_update(method: Method, step: Step) -> Vector | Tensor:
    """Return the method's K weights, or its n-vector if it defines `direction`; both are finite."""
    if not method.overrides("direction"):
        return checked_weights(method, step)
    direction = method.direction(step)
    if not isinstance(direction, Tensor) or direction.ndim != 1:
        raise MethodError(f"{method.name}.direction returned {type(direction).__name__}; it must be a vector (n,)")
    if not torch.isfinite(direction).all():
        raise NonFiniteError(f"{method.name} returned a non-finite direction at iteration {step.iteration}")
    return direction.detach()
