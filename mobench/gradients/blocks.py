"""One gradient, held as blocks: one tensor per parameter, None where it is zero.

Keeping blocks instead of one flat vector saves a copy of every gradient, and lets a gradient that is
known in closed form be recomputed block by block instead of being stored.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import compress
from typing import Protocol

import torch
from torch import Tensor

from mobench.core.device_path import require_one_device
from mobench.core.flat import FlatBlocks
from mobench.core.objective import KnownGradient, require_fit
from mobench.errors import NonFiniteError, UserError
from mobench.gradients import cpu_kernels

Blocks = list[Tensor | None]


class Row(Protocol):
    """A gradient as blocks; a block is `unit` times the true gradient."""

    unit: float
    owned: bool
    """Whether a block's memory may be overwritten once the row is used up."""
    uniform: bool
    """Whether blocks have the parameters' types, so that they can be copied side by side without loss."""

    def block(self, index: int) -> Tensor | None:
        """Return the block of parameter number `index`."""
        ...

    def fill(self, out: FlatBlocks) -> Sequence[bool]:
        """Write the blocks of several parameters, zeros where there is none, and say which there are."""
        ...


class StoredRow:
    """A gradient whose blocks are in memory."""

    def __init__(self, blocks: Blocks, unit: float, *, owned: bool, uniform: bool = True) -> None:
        self.blocks = blocks
        self.unit = unit
        self.owned = owned
        self.uniform = uniform

    def block(self, index: int) -> Tensor | None:
        """Return the stored block."""
        return self.blocks[index]

    def fill(self, out: FlatBlocks) -> Sequence[bool]:
        """Copy the stored blocks, all in one operation."""
        blocks = [self.blocks[index] for index in out.indices]
        present = [block is not None for block in blocks]
        views = list(out.views)
        if not all(present):
            out.vector.zero_()
            views = list(compress(views, present))
        if views:
            sources = [block for block in blocks if block is not None]
            require_one_device(out.vector, *sources)
            torch._foreach_copy_(views, sources)
        return present


class Scratch:
    """Memory for one block of any parameter, kept because new memory costs more than the closed form."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self._layouts = [torch.empty_like(parameter, device="meta") for parameter in parameters]
        self._longest = max(parameter.numel() for parameter in parameters)
        self._memory: dict[tuple[torch.device, torch.dtype], Tensor] = {}

    def block(self, index: int, parameter: Tensor) -> Tensor:
        """Return memory with the shape and layout of parameter number `index`."""
        kind = (parameter.device, parameter.dtype)
        if kind not in self._memory:
            self._memory[kind] = torch.empty(self._longest, dtype=parameter.dtype, device=parameter.device)
        layout = self._layouts[index]
        return self._memory[kind].as_strided(layout.shape, layout.stride())


class KnownRow:
    """A gradient in closed form, computed whenever a block is asked for, in `scratch` if it can make use of it."""

    unit = 1.0
    owned = False
    uniform = True

    def __init__(self, objective: KnownGradient, parameters: Sequence[Tensor], scratch: Scratch) -> None:
        self._objective = objective
        self._parameters = parameters
        self._scratch = scratch
        self._in_place = type(objective).gradient_into is not KnownGradient.gradient_into

    def block(self, index: int) -> Tensor | None:
        """Compute the block; it is valid until the next one is asked for."""
        parameter = self._parameters[index]
        if self._in_place:
            block = self._objective.gradient_into(index, self._scratch.block(index, parameter))
        else:
            block = self._objective.gradient(index)
        if block is not None:
            require_fit(self._objective, index, block, parameter)
        return block

    def fill(self, out: FlatBlocks) -> Sequence[bool]:
        """Let the objective write its blocks."""
        return self._objective.gradients_into(out)


def split(vector: Tensor, parameters: Sequence[Tensor]) -> list[Tensor]:
    """Cut an n-vector into views with the parameters' shapes."""
    pieces = torch.split(vector, [parameter.numel() for parameter in parameters])
    return [piece.view(parameter.shape) for piece, parameter in zip(pieces, parameters, strict=True)]


def given_rows(
    gradients: Tensor | Sequence[Sequence[Tensor | None]], parameters: Sequence[Tensor], unit: float
) -> list[StoredRow]:
    """Return rows over gradients that the caller computed: a K×n tensor, or K lists of blocks."""
    rows: list[Blocks]
    if isinstance(gradients, Tensor):
        n = sum(parameter.numel() for parameter in parameters)
        if gradients.ndim != 2 or gradients.shape[1] != n:
            raise UserError(
                f"gradients has shape {tuple(gradients.shape)}; the parameters have {n} entries, so (K, {n}) is needed"
            )
        rows = [[*split(row, parameters)] for row in gradients.detach().contiguous()]
    else:
        rows = [[None if block is None else block.detach() for block in row] for row in gradients]
    if not rows:
        raise UserError("gradients is empty; it takes one gradient for each objective")
    for number, row in enumerate(rows):
        _check_blocks(number, row, parameters)
    return [StoredRow(row, unit, owned=False, uniform=_fits(row, parameters)) for row in rows]


def _fits(row: Blocks, parameters: Sequence[Tensor]) -> bool:
    return all(block is None or block.dtype == tensor.dtype for block, tensor in zip(row, parameters, strict=True))


def _check_blocks(number: int, row: Blocks, parameters: Sequence[Tensor]) -> None:
    if len(row) != len(parameters):
        raise UserError(f"gradients[{number}] has {len(row)} tensors; there are {len(parameters)} parameters")
    for index, (block, parameter) in enumerate(zip(row, parameters, strict=True)):
        if block is not None and (block.shape != parameter.shape or block.device != parameter.device):
            raise UserError(
                f"gradients[{number}][{index}] has shape {tuple(block.shape)} on {block.device}; "
                f"parameter {index} has shape {tuple(parameter.shape)} on {parameter.device}"
            )


def flat(block: Tensor | None, parameter: Tensor) -> Tensor | None:
    """Return the block as a vector in the parameter's memory order, a view where the block has that order."""
    if block is None:
        return None
    channels_last = parameter.ndim == 4 and not parameter.is_contiguous()
    return (block.permute(0, 2, 3, 1) if channels_last else block).reshape(-1)


@torch.no_grad()
def dense(rows: Sequence[Row], parameters: Sequence[Tensor], positions: Sequence[int]) -> Tensor:
    """Return the true gradients with respect to the parameters at `positions` as the rows of a new matrix."""
    tensors = [parameters[index] for index in positions]
    dtype = reduce(torch.promote_types, (tensor.dtype for tensor in tensors))
    n = sum(tensor.numel() for tensor in tensors)
    matrix = torch.zeros(len(rows), n, dtype=dtype, device=tensors[0].device)
    for row, vector in zip(rows, matrix, strict=True):
        for index, target in zip(positions, split(vector, tensors), strict=True):
            block = row.block(index)
            if block is not None:
                target.copy_(block).mul_(1.0 / row.unit)
    return matrix


def working_type(parameter: Tensor, *, wide: bool) -> torch.dtype:
    """Return the type in which terms are added: at least float32, and float64 if it is to be `wide` and can be."""
    if wide and parameter.device.type != "mps":
        return torch.float64
    return parameter.dtype if parameter.dtype.itemsize >= 4 else torch.float32


def weighted_sum(
    terms: Iterable[tuple[Row, float]], index: int, parameter: Tensor, *, wide: bool = False
) -> Tensor | None:
    """Return `Σ factor · block` over the terms, or None where all blocks are zero.

    The first block is overwritten if it is owned.
    """
    working = working_type(parameter, wide=wide)
    total: Tensor | None = None
    scale, further = 1.0, []
    for row, factor in terms:
        if total is not None and factor == 0.0:
            continue
        block = row.block(index)
        if block is None:
            continue
        if total is not None:
            further.append((block, factor))
        elif row.owned and block.dtype == working:
            total, scale = block, factor
        else:
            total = block.to(working) * factor
    if total is None:
        return None
    if not cpu_kernels.add_in_place(total, scale, further):
        if scale != 1.0:
            total.mul_(scale)
        for block, factor in further:
            total.add_(block, alpha=factor)
    return total.to(parameter.dtype)


def all_finite(blocks: Iterable[Tensor | None]) -> bool:
    """Say whether no block holds an infinite number or a NaN."""
    flags = [torch.isfinite(block).all() for block in blocks if block is not None]
    return not flags or bool(torch.stack([flag.to(flags[0].device) for flag in flags]).all())


def refuse_non_finite(parameters: Iterable[Tensor]) -> None:
    """Raise if a parameter's `.grad` holds an infinite number or a NaN, and remove what all of them hold.

    For updates whose gradients nobody has looked at. A sum is finite only if every term is; looking at
    each number costs twenty times as much.
    """
    holding = [parameter for parameter in parameters if parameter.grad is not None]
    gradients = [parameter.grad for parameter in holding if parameter.grad is not None]
    if not gradients:
        return
    sums = torch.stack([gradient.sum().to(gradients[0].device, torch.float32) for gradient in gradients])
    if math.isfinite(sum(sums.tolist())) or all_finite(gradients):
        return
    for parameter in holding:
        parameter.grad = None
    broken = next(index for index, gradient in enumerate(gradients) if not all_finite([gradient]))
    shape = tuple(holding[broken].shape)
    raise NonFiniteError(f"the update of a parameter of shape {shape} is not finite")
