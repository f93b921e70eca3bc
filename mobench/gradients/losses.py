"""Reading the K losses of a step: their values, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from mobench.core.method import Vector
from mobench.core.objective import KnownGradient
from mobench.errors import NonFiniteError, UserError

Loss = Tensor | KnownGradient


def loss_values(losses: Sequence[Loss]) -> Vector:
    """Return the K values in float64, and refuse what cannot be differentiated or is not finite."""
    return finite_values([_value(index, loss) for index, loss in enumerate(_listed(losses))])


def plain_values(losses: Sequence[Loss | float] | Tensor) -> Vector:
    """Return K values in float64 that nobody will differentiate: numbers, tensors or closed forms."""
    listed: Sequence[Loss | float] = losses.tolist() if isinstance(losses, Tensor) else _listed(losses)
    return finite_values([float(loss.value if isinstance(loss, KnownGradient) else loss) for loss in listed])


def finite_values(values: Sequence[float]) -> Vector:
    """Return the values as an array, or name the first that is NaN or infinite."""
    array = np.array(values, dtype=np.float64)
    for index in np.flatnonzero(~np.isfinite(array)):
        raise NonFiniteError(f"loss {index} of {len(array)} is {array[index]} (counted from 0)")
    return array


def _listed(losses: Any) -> Sequence[Any]:
    if not isinstance(losses, Sequence):
        raise UserError(f"losses is a {type(losses).__name__}; it takes a list with one scalar for each objective")
    if not losses:
        raise UserError("losses is empty; it takes one scalar for each objective")
    return losses


def _value(index: int, loss: Any) -> float:
    if isinstance(loss, KnownGradient):
        return float(loss.value)
    if not isinstance(loss, Tensor):
        raise UserError(f"loss {index} is a {type(loss).__name__}; a loss is a tensor or a KnownGradient")
    if loss.numel() != 1:
        raise UserError(f"loss {index} has shape {tuple(loss.shape)}; a loss is a scalar, e.g. `loss.mean()`")
    if not loss.requires_grad:
        raise UserError(f"loss {index} has no graph; compute it from the parameters, outside torch.no_grad()")
    return float(loss.detach())
