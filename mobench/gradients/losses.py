"""Reading the K losses of a step: a list, a stacked tensor, or names with losses; their values, and what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from mobench.core.method import Vector
from mobench.core.objective import KnownGradient
from mobench.errors import NonFiniteError, UserError

Loss = Tensor | KnownGradient
Losses = Sequence[Loss] | Mapping[str, Loss] | Tensor
"""K losses to differentiate: a list, the same with names, or a tensor of shape (K,)."""
Values = Sequence[Loss | float] | Mapping[str, Loss | float] | Tensor
"""K losses of which only the values matter."""


def listed(losses: Losses) -> tuple[Loss, ...]:
    """Return the losses one by one, and refuse what cannot be differentiated."""
    found = tuple(_items(losses).items())
    for label, loss in found:
        if isinstance(loss, KnownGradient):
            continue
        if not isinstance(loss, Tensor):
            raise UserError(f"{label} is a {type(loss).__name__}; a loss is a tensor or a KnownGradient")
        if loss.numel() != 1:
            raise UserError(f"{label} has shape {tuple(loss.shape)}; a loss is a scalar, e.g. `loss.mean()`")
        if not loss.requires_grad:
            raise UserError(f"{label} has no graph; compute it from the parameters, outside torch.no_grad()")
    return tuple(loss for _, loss in found)


def values_of(losses: Values) -> Vector:
    """Return the K values in float64, and name the first that is NaN or infinite."""
    items = _items(losses)
    array = np.array([_value(loss) for loss in items.values()], dtype=np.float64)
    for label, value in zip(items, array, strict=True):
        if not np.isfinite(value):
            raise NonFiniteError(f"{label} is {value}" + ("" if isinstance(losses, Mapping) else " (counted from 0)"))
    return array


def _items(losses: Any) -> dict[str, Any]:
    """Return the losses with what error messages call them."""
    if isinstance(losses, Mapping):
        named = {f"loss '{name}'": loss for name, loss in losses.items()}
    elif isinstance(losses, Tensor) and losses.ndim == 1:
        named = _numbered(losses.unbind())
    elif isinstance(losses, Sequence) and not isinstance(losses, str):
        named = _numbered(losses)
    else:
        given = f"tensor of shape {tuple(losses.shape)}" if isinstance(losses, Tensor) else type(losses).__name__
        raise UserError(f"losses is a {given}; it takes a list or dict of scalars, or a tensor of shape (K,)")
    if not named:
        raise UserError("losses is empty; it takes one scalar for each objective")
    return named


def _numbered(losses: Sequence[Any]) -> dict[str, Any]:
    return {f"loss {index} of {len(losses)}": loss for index, loss in enumerate(losses)}


def _value(loss: Loss | float) -> float:
    if isinstance(loss, KnownGradient):
        return float(loss.value)
    return float(loss.detach() if isinstance(loss, Tensor) else loss)
