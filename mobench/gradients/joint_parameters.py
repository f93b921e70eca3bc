"""The parameters of a network as views of one vector, so that whoever treats them alike treats them at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from mobench.core.flat import FlatBlocks, follows, memory_order

_OURS = 2
"""The references to a storage that nobody else looks at: the parameter's and that of the object asked."""


@torch.no_grad()
def join(parameters: Sequence[Tensor]) -> Tensor | None:
    """Move the parameters into one vector, in the order of `memory_order`, and return it; None where that is not safe.

    The tensors stay the same objects with the same shapes, values and memory layouts. It is safe where all
    of them have one type and one device, and no other tensor looks at their memory.
    """
    order = memory_order(parameters, range(len(parameters)))
    size = sum(parameter.numel() for parameter in parameters)
    if all(follows(parameters[before], parameters[after]) for before, after in pairwise(order)):
        return parameters[order[0]].detach().as_strided((size,), (1,))
    if any(not _movable(parameter, parameters[0]) for parameter in parameters):
        return None
    vector = torch.empty(size, dtype=parameters[0].dtype, device=parameters[0].device)
    for index, view in zip(order, FlatBlocks.of(vector, order, parameters).views, strict=True):
        view.copy_(parameters[index])
        parameters[index].data = view
    return vector


def _movable(parameter: Tensor, first: Tensor) -> bool:
    dense = parameter.is_contiguous() or parameter.is_contiguous(memory_format=torch.channels_last)
    return (
        type(parameter) in (Tensor, torch.nn.Parameter)
        and parameter.layout == torch.strided
        and parameter.is_leaf
        and dense
        and parameter.numel() > 0
        and (parameter.dtype, parameter.device) == (first.dtype, first.device)
        and torch._C._storage_Use_Count(parameter.untyped_storage()._cdata) == _OURS
    )
