"""Parameters in buckets: many small tensors are handled as one vector, large ones by themselves.

A bucket holds tensors of one type and device, up to a number of entries. For each of the K gradients there is
memory for the longest bucket, so that a step needs K buckets of extra memory, however many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from mobench.core.device_path import as_on_cpu
from mobench.core.flat import FlatBlocks, memory_order

ON_CPU, ON_DEVICES = 2**17, 2**23
"""The most entries of a bucket: on a CPU what stays in its cache; elsewhere few buckets matter more than memory."""


def longest_bucket(device: torch.device) -> int:
    """Return the most entries of a bucket on `device`."""
    return ON_CPU if as_on_cpu(device) else ON_DEVICES


class Row(Protocol):
    """A gradient that can write its blocks."""

    def fill(self, out: FlatBlocks) -> Sequence[bool]:
        """Write the blocks of several parameters, zeros where there is none, and say which there are."""
        ...


class _Memory:
    """A vector for each gradient, made when it is first needed, and whose blocks it holds."""

    def __init__(self, first: Tensor) -> None:
        self.longest = 0
        self.holders: dict[int, tuple[Bucket, Sequence[bool]]] = {}
        self._kind = (first.dtype, first.device)
        self._vectors: dict[int, Tensor] = {}

    def vector(self, number: int) -> Tensor:
        if number not in self._vectors:
            dtype, device = self._kind
            self._vectors[number] = torch.zeros(self.longest, dtype=dtype, device=device)
        return self._vectors[number]


class Bucket:
    """Some parameters, and for each gradient memory for its blocks."""

    def __init__(self, indices: Sequence[int], parameters: Sequence[Tensor], memory: _Memory) -> None:
        self.indices = tuple(indices)
        self.length = sum(parameters[index].numel() for index in indices)
        self.joint = len(indices) > 1
        """Whether the bucket is more than one tensor."""
        self._parameters = parameters
        self._memory = memory
        self._blocks: dict[int, FlatBlocks] = {}

    def blocks(self, number: int) -> FlatBlocks:
        """Return the memory for gradient number `number`, which is shared with other buckets."""
        if number not in self._blocks:
            vector = self._memory.vector(number)[: self.length]
            self._blocks[number] = FlatBlocks.of(vector, self.indices, self._parameters)
        return self._blocks[number]

    def read(self, number: int, row: Row) -> tuple[FlatBlocks, Sequence[bool]]:
        """Return the blocks of gradient number `number`, and which of them there are; written if they are not yet."""
        blocks = self.blocks(number)
        holder, present = self._memory.holders.get(number, (None, ()))
        if holder is not self:
            present = row.fill(blocks)
            self._memory.holders[number] = self, present
        return blocks, present

    def forget(self) -> None:
        """Take what the memory holds for outdated."""
        self._memory.holders.clear()

    def weighted_sum(
        self, terms: Sequence[tuple[int, Row, float]], working: torch.dtype
    ) -> tuple[FlatBlocks, Sequence[bool]]:
        """Return `Σ factor · row` over the terms, added in type `working`, and where there is a block at all.

        A term is the number of a gradient, the gradient and its factor. The sum is written over the first.
        """
        read = [(*self.read(number, row), factor) for number, row, factor in terms]
        (first, present, scale), *others = read
        total = first.vector if first.vector.dtype == working else first.vector.to(working)
        if scale != 1.0:
            total.mul_(scale)
        for blocks, _, factor in others:
            if factor != 0.0:
                total.add_(blocks.vector, alpha=factor)
        if total is not first.vector:
            first.vector.copy_(total)
        self.forget()
        return first, [any(flags) for flags in zip(present, *(flags for _, flags, _ in others), strict=True)]


def make_buckets(parameters: Sequence[Tensor], positions: Sequence[int]) -> list[Bucket]:
    """Divide the parameters at `positions` into buckets."""
    kinds: dict[tuple[torch.dtype, torch.device], list[int]] = {}
    for index in memory_order(parameters, positions):
        kinds.setdefault((parameters[index].dtype, parameters[index].device), []).append(index)
    return [bucket for indices in kinds.values() for bucket in _of_one_kind(parameters, indices)]


def _of_one_kind(parameters: Sequence[Tensor], indices: Sequence[int]) -> list[Bucket]:
    first = parameters[indices[0]]
    limit = longest_bucket(first.device)
    alone = [[index] for index in indices if parameters[index].numel() >= limit]
    together: list[list[int]] = []
    room = 0
    for index in indices:
        size = parameters[index].numel()
        if size >= limit:
            continue
        if size > room:
            together.append([])
            room = limit
        together[-1].append(index)
        room -= size
    memory = _Memory(first)
    buckets = [Bucket(cut, parameters, memory) for cut in (*together, *alone)]
    memory.longest = max((bucket.length for bucket in buckets if bucket.joint), default=0)
    return buckets
