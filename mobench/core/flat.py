"""Several tensors as one vector: their order in memory, and memory for a gradient with respect to all of them.

One operation over a vector costs a device, and the interpreter, as much as one over a single bias. So
tensors that are treated alike stand side by side: weights before biases, filters of one length together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def memory_order(tensors: Sequence[torch.Tensor] | Mapping[int, torch.Tensor], positions: Iterable[int]) -> list[int]:
    """Return positions in the order in which the tensors stand in a vector.

    By number of dimensions, then by the length of a filter (one index of the first dimension), then by the
    number of filters: equal shapes are neighbours, and filters of one length form one matrix.
    """

    def key(position: int) -> tuple[int, int, int, int]:
        tensor = tensors[position]
        filters = tensor.shape[0] if tensor.ndim > 1 else 1
        return -tensor.ndim, tensor.numel() // max(1, filters), filters, position

    return sorted(positions, key=key)


def dense_strides(tensor: torch.Tensor) -> tuple[int, ...]:
    """Return the strides of new memory for `tensor`: channels-last where it has that layout, else row by row."""
    import torch

    if tensor.is_contiguous():
        return tensor.stride()
    return tuple(torch.empty_like(tensor, device="meta").stride())


def place(tensor: torch.Tensor) -> tuple[int, int]:
    """Return where a tensor begins: its storage, which may be a fake one without an address, and the offset in it."""
    return tensor.untyped_storage()._cdata, int(tensor.storage_offset())


def follows(before: torch.Tensor, after: torch.Tensor) -> bool:
    """Say whether `after` begins in memory where `before` ends."""
    return bool(
        place(after) == (place(before)[0], before.storage_offset() + before.numel()) and before.dtype == after.dtype
    )


@dataclass(frozen=True, eq=False)
class FlatBlocks:
    """Memory for the blocks of one gradient, one after the other in one vector."""

    indices: tuple[int, ...]
    """The numbers of the parameters, in the order of `memory_order`."""
    vector: torch.Tensor
    views: tuple[torch.Tensor, ...]
    """Parts of the vector with the shapes and layouts of the parameters."""

    @classmethod
    def of(cls, vector: torch.Tensor, indices: Sequence[int], parameters: Sequence[torch.Tensor]) -> FlatBlocks:
        """Cut the vector into views for the parameters at `indices`."""
        views, start = [], 0
        for index in indices:
            parameter = parameters[index]
            views.append(vector.as_strided(parameter.shape, dense_strides(parameter), start))
            start += parameter.numel()
        return cls(tuple(indices), vector, tuple(views))
