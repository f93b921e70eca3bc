"""A stored training state whose tensors are arranged otherwise: each by itself, one vector, or a row of a matrix.

How a workload arranges the parameters of a network depends on the device. So a checkpoint of a GPU that goes on
on a CPU, or the other way round, is cut into the network's parameters and put together anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mobench.core.flat import FlatBlocks, memory_order
from mobench.core.task_stack import LANES


def same_shapes(some: Sequence[Tensor], others: Sequence[Tensor]) -> bool:
    """Say whether tensors are as many and have the same shapes."""
    return [tensor.shape for tensor in some] == [tensor.shape for tensor in others]


def can_be_cut(stored: Sequence[Tensor], parameters: Sequence[Tensor]) -> bool:
    """Say whether stored tensors are those of a network: each parameter, or all of them as one vector."""
    size = sum(parameter.numel() for parameter in parameters)
    as_vector = len(stored) == 1 and len(stored[0].shape) <= 2 and size <= stored[0].numel() < size + LANES
    return same_shapes(stored, parameters) or as_vector


def rearranged(stored: Sequence[Tensor], parameters: Sequence[Tensor], targets: Sequence[Tensor]) -> list[Tensor]:
    """Return what is stored of a network's `parameters`, in the arrangement of `targets`."""
    if same_shapes(stored, targets):
        return list(stored)
    pieces = list(stored) if same_shapes(stored, parameters) else _views(stored[0], parameters)
    if same_shapes(targets, parameters):
        return pieces
    vector = torch.zeros(targets[0].shape, dtype=pieces[0].dtype)
    for view, piece in zip(_views(vector, parameters), pieces, strict=True):
        view.copy_(piece)
    return [vector]


def rearranged_optimizer(
    stored: dict[str, Any], shapes: Sequence[Tensor], parameters: Sequence[Tensor], current: dict[str, Any],
    targets: Sequence[Tensor],
) -> dict[str, Any]:  # fmt: skip
    """Return an optimizer's state for `targets`, made of one for tensors of the `shapes`; `current` has its settings.

    Numbers, such as a count of steps, are the same for all tensors. A tensor without a state, which no loss depends on,
    has zeros.
    """
    of_each: dict[int, dict[str, Any]] = stored["state"]
    state: dict[int, dict[str, Any]] = {index: {} for index in range(len(targets))} if of_each else {}
    first = min(of_each, default=0)
    for name, value in of_each.get(first, {}).items():
        if isinstance(value, Tensor) and value.shape == shapes[first].shape:
            known = [of_each.get(index, {}).get(name, torch.zeros_like(shape)) for index, shape in enumerate(shapes)]
            found = rearranged(known, parameters, targets)
        else:
            found = [value.clone() if isinstance(value, Tensor) else value for _ in targets]
        for own, each in zip(state.values(), found, strict=True):
            own[name] = each
    return {"state": state, "param_groups": current["param_groups"]}


def _views(vector: Tensor, parameters: Sequence[Tensor]) -> list[Tensor]:
    """Cut a vector, or a matrix of one row, as `parameters` are laid out side by side."""
    order = memory_order(parameters, range(len(parameters)))
    views = dict(zip(order, FlatBlocks.of(vector.reshape(-1), order, parameters).views, strict=True))
    return [views[index] for index in range(len(parameters))]
