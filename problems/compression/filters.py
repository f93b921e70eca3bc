"""Weights as matrices with one row per output filter, and neighbours in memory as one matrix.

The trainer puts the parameters side by side, filters of one length together. What is done to every filter is
then done to a few matrices instead of every layer: `runs` finds them. Without neighbours each layer is a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mobench.core.flat import memory_order


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


@dataclass(frozen=True, eq=False)
class Run:
    """Weights that follow each other in memory, as one matrix of filters of one length."""

    indices: tuple[int, ...]
    rows: tuple[int, ...]
    """The number of filters of each weight."""
    matrices: tuple[Tensor, ...]
    """The weights themselves, and what else lies in memory in the same way, e.g. where their gradient goes."""

    @property
    def alike(self) -> bool:
        """Whether all weights have one shape."""
        return len(set(self.rows)) == 1

    def stacked(self) -> tuple[Tensor, ...]:
        """Return the matrices as layers × filters × length, for weights of one shape."""
        return tuple(matrix.view(len(self.rows), self.rows[0], -1) for matrix in self.matrices)


def runs(indices: Iterable[int], *layers: Mapping[int, Tensor], alike: bool = False) -> list[Run]:
    """Return weights as few matrices, in the order of `memory_order`.

    Each of `layers` has a tensor for every index, e.g. weights and their gradients. Weights are joined where
    the tensors of all of them follow each other; with `alike` only those of one shape are.
    """
    order = memory_order(layers[0], indices)
    groups: list[list[int]] = []
    for index in order:
        before = groups[-1][-1] if groups else None
        if before is not None and all(_follows(layer[before], layer[index], alike) for layer in layers):
            groups[-1].append(index)
        else:
            groups.append([index])
    return [_run(group, layers) for group in groups]


def _run(group: Sequence[int], layers: Sequence[Mapping[int, Tensor]]) -> Run:
    rows = tuple(layers[0][index].shape[0] for index in group)
    joined = []
    for layer in layers:
        matrix = as_matrix(layer[group[0]])
        if len(group) > 1:
            matrix = matrix.as_strided((sum(rows), matrix.shape[1]), matrix.stride())
        joined.append(matrix)
    return Run(tuple(group), rows, tuple(joined))


def _follows(before: Tensor, after: Tensor, alike: bool) -> bool:
    """Say whether `after` begins in memory where `before` ends, with filters of the same length."""
    return (
        before.untyped_storage().data_ptr() == after.untyped_storage().data_ptr()
        and before.storage_offset() + before.numel() == after.storage_offset()
        and before[0].numel() == after[0].numel()
        and not (alike and before.shape[0] != after.shape[0])
    )

