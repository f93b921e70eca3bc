"""Reading the K losses of a step: a list, a stacked tensor, or names with losses; their values, and what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mobench.core.device_path import as_on_cpu
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
    found = _items(losses)
    for index, loss in enumerate(found):
        if isinstance(loss, KnownGradient):
            continue
        if not isinstance(loss, Tensor):
            mistake = f"is a {type(loss).__name__}; a loss is a tensor or a KnownGradient"
        elif loss.numel() != 1:
            mistake = f"has shape {tuple(loss.shape)}; a loss is a scalar, e.g. `loss.mean()`"
        elif not loss.requires_grad:
            mistake = "has no graph; compute it from the parameters, outside torch.no_grad()"
        else:
            continue
        raise UserError(f"{_label(losses, index)} {mistake}")
    return tuple(found)


def values_of(losses: Values) -> Vector:
    """Return the K values in float64, and name the first that is NaN or infinite."""
    array = np.array(_read([loss.value if isinstance(loss, KnownGradient) else loss for loss in _items(losses)]))
    for index in np.flatnonzero(~np.isfinite(array)).tolist():
        hint = "" if isinstance(losses, Mapping) else " (counted from 0)"
        raise NonFiniteError(f"{_label(losses, index)} is {array[index]}{hint}")
    return array


def _items(losses: Any) -> Sequence[Any]:
    if isinstance(losses, Mapping):
        found: Sequence[Any] = list(losses.values())
    elif isinstance(losses, Tensor) and losses.ndim == 1:
        found = losses.unbind()
    elif isinstance(losses, Sequence) and not isinstance(losses, str):
        found = losses
    else:
        given = f"tensor of shape {tuple(losses.shape)}" if isinstance(losses, Tensor) else type(losses).__name__
        raise UserError(f"losses is a {given}; it takes a list or dict of scalars, or a tensor of shape (K,)")
    if not found:
        raise UserError("losses is empty; it takes one scalar for each objective")
    return found


def _label(losses: Values, index: int) -> str:
    return f"loss '{list(losses)[index]}'" if isinstance(losses, Mapping) else f"loss {index} of {len(losses)}"


def _read(values: Sequence[Tensor | float]) -> list[float]:
    """Return the values as numbers; those that are on a device are read together, so that it is waited for once."""
    tensors = [value.detach() for value in values if isinstance(value, Tensor)]
    if len(tensors) < 2 or all(as_on_cpu(tensor.device) for tensor in tensors):
        return [float(value.detach() if isinstance(value, Tensor) else value) for value in values]
    device = next(tensor.device for tensor in tensors if not as_on_cpu(tensor.device))
    widest = torch.float32 if device.type == "mps" else torch.float64
    read = iter(torch.stack([tensor.reshape(()).to(device, widest) for tensor in tensors]).tolist())
    return [next(read) if isinstance(value, Tensor) else float(value) for value in values]
