"""The gradients of K losses: everything that is as large as the parameters happens here.

A method sees K losses and, if it asks, the K×K Gram matrix. `GradientRows` delivers both at the
lowest cost: a loss with a graph costs one backward pass, once; an objective that knows its gradient
costs none and is never stored; weights that were found without reading a gradient cost a single
backward pass of the weighted sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from mobench.core.method import Matrix, Vector
from mobench.core.objective import KnownGradient
from mobench.errors import UserError
from mobench.gradients.blocks import (
    Blocks,
    KnownRow,
    Row,
    Scratch,
    StoredRow,
    all_finite,
    flat,
    given_rows,
    split,
    weighted_sum,
)
from mobench.gradients.gram import Gram, gram_of
from mobench.gradients.losses import Loss, last_with_graph, loss_values


class GradientRows:
    """The K gradients of one step with respect to `parameters`, computed when first asked for.

    A step is `load` (or several `accumulate`, or `load_gradients`), then any of `gram` and
    `gradients`, then `apply` or `apply_direction`, which write the parameters' `.grad` and free
    everything else. What `.grad` held before is discarded.

    Extra memory: nothing while one loss needs autograd, since its gradient becomes `.grad`, and one
    gradient for each further loss that does; for a closed form one parameter tensor at a time.
    """

    def __init__(self, parameters: Iterable[Tensor]) -> None:
        self.parameters = tuple(parameters)
        """In the order in which n-vectors are laid out; a frozen one has its place and gets no gradient."""
        if not self.parameters:
            raise UserError("parameters is empty; it takes the tensors that an optimizer updates")
        for index, parameter in enumerate(self.parameters):
            if not isinstance(parameter, Tensor) or not parameter.is_leaf or parameter.is_complex():
                raise UserError(f"parameters[{index}] is no real leaf tensor, such as an optimizer updates")
        if len({id(parameter) for parameter in self.parameters}) < len(self.parameters):
            raise UserError("parameters holds one tensor twice")
        self.n = sum(parameter.numel() for parameter in self.parameters)
        self._scratch: dict[int, Scratch] = {}
        self.backward_passes = 0
        """How many times autograd has traversed a graph so far."""
        self.clear()

    def clear(self) -> None:
        """Forget the step that is under way, and free its memory."""
        self._pending: Sequence[Loss] = ()
        self._rows: list[Row] = []
        self._gram: Gram | None = None
        self._value_sum: Vector = np.zeros(0)
        self._weight = 1.0
        self._scale = 1.0

    def load(self, losses: Sequence[Loss], *, scale: float = 1.0) -> None:
        """Begin a step with K losses; nothing is computed but their values.

        With a `scale` S (mixed precision), S times each loss is differentiated and `.grad` will hold
        S times the update, while `values`, `gram` and `gradients` are those of the losses themselves.
        """
        values = loss_values(losses)
        self.clear()
        self._value_sum, self._pending, self._scale = values, tuple(losses), scale

    def accumulate(self, losses: Sequence[Loss], *, weight: float = 1.0, scale: float = 1.0) -> None:
        """Add a micro-batch: a step's losses are the means of its micro-batches', weighted by `weight`.

        The graph is used up at once. A closed form depends on the parameters alone, which do not
        change within a step; so it is taken from the last micro-batch and not summed.
        """
        if not (weight > 0.0 and math.isfinite(weight)):
            raise UserError(f"weight={weight} is not accepted; weight takes a positive number")
        values = loss_values(losses)
        if self._rows:
            self._check_continues(losses, scale)
            self._weight += weight
        else:
            self.clear()
            self._value_sum, self._weight, self._scale = np.zeros(len(losses)), weight, scale
        self._value_sum += weight * values
        self._differentiate_each(losses, weight)

    def load_gradients(
        self, gradients: Tensor | Sequence[Sequence[Tensor | None]], *, values: Vector | None = None, scale: float = 1.0
    ) -> None:
        """Begin a step with given gradients: K×n, or K lists of one tensor (or None) per parameter.

        They are not modified. With a `scale` they are the gradients of the scaled losses.
        """
        rows = given_rows(gradients, self.parameters, scale)
        if values is not None and len(values) != len(rows):
            raise UserError(f"losses has {len(values)} entries for {len(rows)} gradients")
        self.clear()
        self._value_sum = np.full(len(rows), np.nan) if values is None else values
        self._rows, self._scale = [*rows], scale

    @property
    def values(self) -> Vector:
        """The K losses in float64."""
        return self._value_sum / self._weight

    @property
    def computed(self) -> bool:
        """Whether the gradients of this step have been asked for."""
        return bool(self._rows)

    @property
    def gram_if_read(self) -> Matrix | None:
        """The Gram matrix, None if nobody has asked for it in this step."""
        return None if self._gram is None else self._gram.matrix

    @property
    def resolution(self) -> float:
        """What the Gram matrix resolves, as in `Step.resolution`; it must have been asked for."""
        assert self._gram is not None
        return self._gram.resolution

    def gram(self) -> Matrix:
        """Return the K×K inner products of the gradients in float64."""
        if self._gram is None:
            rows = self._all_rows()
            with torch.no_grad():
                taken = gram_of(len(rows), lambda: self._flat_blocks(rows))
            units = np.array([row.unit for row in rows])
            self._gram = taken._replace(matrix=taken.matrix / units[:, None] / units)
        return self._gram.matrix

    @torch.no_grad()
    def gradients(self) -> Tensor:
        """Return the gradients as the rows of a new K×n tensor; prefer `gram`."""
        rows = self._all_rows()
        dtype = self.parameters[0].dtype
        for parameter in self.parameters:
            dtype = torch.promote_types(dtype, parameter.dtype)
        dense = torch.zeros(len(rows), self.n, dtype=dtype, device=self.parameters[0].device)
        for row, vector in zip(rows, dense, strict=True):
            for index, target in enumerate(split(vector, self.parameters)):
                block = row.block(index)
                if block is not None:
                    target.copy_(block).mul_(1.0 / row.unit)
        return dense

    @torch.no_grad()
    def finite(self) -> bool:
        """Say whether every gradient computed so far is finite."""
        return all_finite(row.block(index) for row in self._rows for index in range(len(self.parameters)))

    def apply(self, weights: Sequence[float] | Vector) -> None:
        """Write `Σ_i w_i g_i` into the parameters' `.grad`.

        If no gradient has been asked for, this is one backward pass of `Σ_i w_i L_i` over the losses
        with a graph, whatever their number. A parameter that no loss depends on gets None.
        """
        if len(weights) != len(self._value_sum):
            raise UserError(f"{len(weights)} weights for {len(self._value_sum)} losses")
        factors = [float(weight) * self._scale for weight in weights]
        if self._rows:
            terms = [(row, factor / row.unit) for row, factor in zip(self._rows, factors, strict=True)]
        else:
            terms = self._differentiate_sum(factors)
        wide = self._gram is not None and self._gram.cancels(np.asarray(weights))
        self.clear()
        terms.sort(key=lambda term: not term[0].owned)  # memory that may become `.grad` comes first
        with torch.no_grad():
            for index, parameter in enumerate(self.parameters):
                parameter.grad = weighted_sum(terms, index, parameter, wide=wide) if parameter.requires_grad else None

    @torch.no_grad()
    def apply_direction(self, direction: Tensor) -> None:
        """Write an n-vector into the parameters' `.grad`, None for a parameter that no loss depends on."""
        if direction.shape != (self.n,):
            raise UserError(f"the direction has shape {tuple(direction.shape)}; ({self.n},) is needed")
        pieces = split(direction, self.parameters)
        for index, (parameter, piece) in enumerate(zip(self.parameters, pieces, strict=True)):
            used = not self._rows or any(row.block(index) is not None for row in self._rows)
            parameter.grad = None
            if used and parameter.requires_grad:
                # A copy, because a view would keep the whole vector alive and share it with the caller.
                parameter.grad = piece.to(parameter, copy=True).mul_(self._scale)
        self.clear()

    def _all_rows(self) -> list[Row]:
        if not self._rows:
            if not self._pending:
                raise UserError("there are no losses; a step begins with load, accumulate or load_gradients")
            self._differentiate_each(self._pending, 1.0)
            self._pending = ()
        return self._rows

    def _flat_blocks(self, rows: Sequence[Row]) -> Iterator[list[Tensor | None]]:
        """Yield the K gradients with respect to one parameter after the other."""
        for index, parameter in enumerate(self.parameters):
            yield [flat(row.block(index), parameter) for row in rows]

    def _differentiate_each(self, losses: Sequence[Loss], weight: float) -> None:
        """Add `weight` times each loss's gradient to its row."""
        rows: list[Row] = []
        last = last_with_graph(losses)
        for index, loss in enumerate(losses):
            if isinstance(loss, KnownGradient):
                rows.append(self._known_row(index, loss))
                continue
            before = self._rows[index] if self._rows else None
            blocks = before.blocks if isinstance(before, StoredRow) else self._no_blocks()
            blocks = self._traverse([loss], [weight * self._scale], blocks, retain_graph=index != last)
            rows.append(StoredRow(blocks, self._weight * self._scale, owned=True))
        self._rows = rows

    def _differentiate_sum(self, factors: Sequence[float]) -> list[tuple[Row, float]]:
        """Return the terms of the weighted gradient: all losses with a graph as one, and each closed form."""
        terms: list[tuple[Row, float]] = []
        losses, coefficients = [], []
        for index, (loss, factor) in enumerate(zip(self._pending, factors, strict=True)):
            if isinstance(loss, KnownGradient):
                terms.append((self._known_row(index, loss), factor))
            else:
                losses.append(loss)
                coefficients.append(factor)
        if losses:
            blocks = self._traverse(losses, coefficients, self._no_blocks(), retain_graph=False)
            terms.append((StoredRow(blocks, 1.0, owned=True), 1.0))
        return terms

    def _known_row(self, index: int, objective: KnownGradient) -> KnownRow:
        if index not in self._scratch:
            self._scratch[index] = Scratch(self.parameters)
        return KnownRow(objective, self.parameters, self._scratch[index])

    def _no_blocks(self) -> Blocks:
        return [None] * len(self.parameters)

    def _traverse(
        self, losses: Sequence[Tensor], coefficients: Sequence[float], blocks: Blocks, *, retain_graph: bool
    ) -> Blocks:
        """Add the gradient of `Σ_i c_i L_i` to `blocks` in one pass.

        The blocks stand in for `.grad` meanwhile, because autograd's own accumulation knows when it
        may keep a gradient without copying it. What `torch.autograd.grad` returns may share memory
        with other tensors, and could not be overwritten.
        """
        live = [parameter for parameter in self.parameters if parameter.requires_grad]
        if not live:
            raise UserError("every parameter is frozen; at least one must have requires_grad=True")
        for parameter, block in zip(self.parameters, blocks, strict=True):
            parameter.grad = block
        seeds = [torch.full_like(loss, factor) for loss, factor in zip(losses, coefficients, strict=True)]
        try:
            torch.autograd.backward(losses, seeds, retain_graph=retain_graph, inputs=live)
            self.backward_passes += 1
            gradients = [parameter.grad for parameter in self.parameters]
        finally:
            for parameter in self.parameters:
                parameter.grad = None
        return [None if gradient is None else gradient.to_dense() for gradient in gradients]

    def _check_continues(self, losses: Sequence[Loss], scale: float) -> None:
        """Refuse a micro-batch that does not fit those before it."""
        if len(losses) != len(self._rows):
            raise UserError(f"this micro-batch has {len(losses)} losses; the one before had {len(self._rows)}")
        for index, (loss, row) in enumerate(zip(losses, self._rows, strict=True)):
            if isinstance(loss, KnownGradient) != isinstance(row, KnownRow):
                raise UserError(f"loss {index} is a tensor in one micro-batch and a closed form in another")
        if scale != self._scale:
            raise UserError(f"the loss scale changed from {self._scale:g} to {scale:g} between micro-batches")
