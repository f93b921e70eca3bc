"""Weights as matrices with one row per output filter, and neighbours in memory as one matrix.

The trainer puts the parameters side by side, filters of one length together. What is done to every filter is
then done to a few matrices instead of every layer: `join` finds them. Without neighbours each layer stays alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from mobench.core.flat import follows, memory_order

Layers = Mapping[int, Tensor]
"""A tensor for each of several parameters: their weights, or memory for their gradient."""


def as_matrix(weight: Tensor) -> Tensor:
    """Return a view of `weight` with one row per output filter.

    A channels-last weight gives its columns in another order; singular values do not depend on it,
    and a gradient written through the same view lands where it belongs.
    """
    if weight.ndim == 4 and not weight.is_contiguous():
        weight = weight.permute(0, 2, 3, 1)
    return weight.view(weight.shape[0], -1)


def filter_norms(weight: Tensor) -> Tensor:
    """Return ‖θ_g‖₂ of every output filter."""
    norms: Tensor = torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.ndim)))
    return norms


def per_filter(numbers: Tensor, weight: Tensor) -> Tensor:
    """Shape one number per output filter so that it multiplies the whole filter."""
    return numbers.view(-1, *(1,) * (weight.ndim - 1))


class Joined(NamedTuple):
    """Parameters that follow each other in memory, and what was given of them as one tensor each."""

    indices: tuple[int, ...]
    tensors: tuple[Tensor, ...]


def join(indices: Iterable[int], *given: Layers, by: Callable[[Tensor], object], longest: int = 2**62) -> list[Joined]:
    """Return layers as few tensors, in the order of `memory_order`.

    Layers are joined where they follow each other in all of `given`, agree in `by`, and have at most
    `longest` numbers together.
    """
    groups: list[list[int]] = []
    length = 0
    for index in memory_order(given[0], indices):
        size = given[0][index].numel()
        before = groups[-1][-1] if groups else index
        if (
            before != index
            and length + size <= longest
            and by(given[0][before]) == by(given[0][index])
            and all(follows(layers[before], layers[index]) for layers in given)
        ):
            groups[-1].append(index)
            length += size
        else:
            groups.append([index])
            length = size
    return [Joined(tuple(group), tuple(_stretched(layers, group) for layers in given)) for group in groups]


def _stretched(layers: Layers, group: list[int]) -> Tensor:
    """Return the layers of a group as one vector."""
    first = layers[group[0]]
    return first.as_strided((sum(layers[index].numel() for index in group),), (1,))


def vectors(indices: Iterable[int], *given: Layers, longest: int = 2**62) -> list[Joined]:
    """Return layers as few vectors."""
    return join(indices, *given, by=lambda weight: None, longest=longest)


def matrices(indices: Iterable[int], *given: Layers) -> list[Joined]:
    """Return layers as few matrices of filters of one length."""
    found = join(indices, *given, by=lambda weight: weight[0].numel())
    return [_shaped(group, (-1, given[0][group.indices[0]][0].numel())) for group in found]


def stacks(indices: Iterable[int], *given: Layers) -> list[Joined]:
    """Return layers as few stacks of matrices of one shape."""
    found = join(indices, *given, by=lambda weight: (weight.shape[0], weight.numel()))
    return [_shaped(group, (len(group.indices), given[0][group.indices[0]].shape[0], -1)) for group in found]


def _shaped(group: Joined, shape: tuple[int, ...]) -> Joined:
    return group._replace(tensors=tuple(tensor.view(shape) for tensor in group.tensors))
