"""The gradients of K losses: everything that is as large as the parameters happens here.

A method sees K losses and, if it asks, the K×K Gram matrix. `GradientRows` delivers both at the
lowest cost: a loss with a graph costs one backward pass, once; an objective that knows its gradient
costs none and is never stored; weights that were found without reading a gradient cost a single
backward pass of the weighted sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mobench.core.flat import FlatBlocks
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
    dense,
    flat,
    given_rows,
    split,
    weighted_sum,
    working_type,
)
from mobench.gradients.buckets import Bucket, make_buckets
from mobench.gradients.gram import Gram, gram_of
from mobench.gradients.graphs import add_gradient, needed_later, refuse_hidden
from mobench.gradients.layout import Layout
from mobench.gradients.losses import Loss, Losses, listed, values_of


class Term(NamedTuple):
    """A gradient in a weighted sum."""

    number: int
    row: Row
    factor: float


class GradientRows:
    """The K gradients of one step with respect to `parameters`, computed when first asked for.

    A step is `load` (or several `accumulate`, or `load_gradients`), then any of `gram` and
    `gradients`, then `apply` or `apply_direction`, which write the parameters' `.grad` and free
    everything else. What `.grad` held before is discarded.

    With `shared`, the Gram matrix, the gradients and the update are those of the shared parameters.
    Every other parameter gets the unweighted sum of the losses' gradients: a head that one loss
    depends on gets that loss's own.

    Extra memory: nothing while one loss needs autograd, since its gradient becomes `.grad`, and one
    gradient for each further loss that does; for a closed form one parameter tensor at a time.
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        *,
        shared: Iterable[Tensor] | None = None,
        names: Sequence[str] | None = None,
        leaves: bool = True,
        joint: Tensor | None = None,
    ) -> None:
        """Take the parameters; `joint` is the vector that all of them are views of and that is trained instead."""
        self.layout = Layout(parameters, shared, names, leaves=leaves)
        self.parameters = self.layout.parameters
        """In the order in which n-vectors are laid out; a frozen one has its place and gets no gradient."""
        self.n = sum(self.parameters[index].numel() for index in self.layout.shared)
        self._joint = joint
        self._scratch: dict[int, Scratch] = {}
        self._divided: dict[bool, list[Bucket]] = {}
        self.backward_passes = 0
        """How many times autograd has traversed a graph so far."""
        self._reached: set[tuple[bool, ...]] = set()
        self.clear()

    def twin(self) -> GradientRows:
        """Return rows for other losses of the same parameters."""
        shared = [self.parameters[index] for index in self.layout.shared]
        return GradientRows(self.parameters, shared=shared, names=self.layout.names)

    def clear(self) -> None:
        """Forget the step that is under way, and free its memory."""
        self._finish()
        self._gram: Gram | None = None

    def _finish(self) -> None:
        """Forget all of the step but its Gram matrix."""
        self._pending: Sequence[Loss] = ()
        self._rows: list[Row] = []
        self._value_sum: Vector = np.zeros(0)
        self._weight = 1.0
        self._scale = 1.0
        self._retain = False
        self._forget()

    def _forget(self) -> None:
        """Take what buckets hold of the rows for outdated."""
        for buckets in self._divided.values():
            for bucket in buckets:
                bucket.forget()

    def _buckets(self, *, shared: bool) -> list[Bucket]:
        """Return the shared parameters, or the others, in buckets."""
        if shared not in self._divided:
            self._divided[shared] = make_buckets(self.parameters, self.layout.shared if shared else self.layout.own)
        return self._divided[shared]

    def load(self, losses: Losses, *, scale: float = 1.0, retain_graph: bool = False) -> None:
        """Begin a step with K losses; nothing is computed but their values.

        Graphs are freed when they are used up, unless `retain_graph` says that the caller needs them.

        With a `scale` S (mixed precision), S times each loss is differentiated and `.grad` will hold
        S times the update, while `values`, `gram` and `gradients` are those of the losses themselves.
        """
        pending, values = listed(losses), values_of(losses)
        self.clear()
        self._value_sum, self._pending, self._scale, self._retain = values, pending, scale, retain_graph

    def accumulate(self, losses: Losses, *, weight: float = 1.0, scale: float = 1.0) -> None:
        """Add a micro-batch: a step's losses are the means of its micro-batches', weighted by `weight`.

        The graph is used up at once. A closed form depends on the parameters alone, which do not
        change within a step; so it is taken from the last micro-batch and not summed.
        """
        if not (weight > 0.0 and math.isfinite(weight)):
            raise UserError(f"weight={weight} is not accepted; weight takes a positive number")
        batch, values = listed(losses), values_of(losses)
        if self._rows:
            self._check_continues(batch, scale)
            self._weight += weight
        else:
            self.clear()
            self._value_sum, self._weight, self._scale = np.zeros(len(batch)), weight, scale
        self._value_sum += weight * values
        self._differentiate_each(batch, weight)

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
        """The Gram matrix of this step, or of the one that was just applied; None if nobody asked for it."""
        return None if self._gram is None else self._gram.matrix

    @property
    def resolution(self) -> float:
        """What the Gram matrix resolves, as in `Step.resolution`; it must have been asked for."""
        assert self._gram is not None
        return self._gram.resolution

    def gram(self) -> Matrix:
        """Return the K×K inner products of the gradients in float64."""
        if self._gram is None:
            self._gram = self._gram_over(self._shared_blocks)
        return self._gram.matrix

    def _gram_over(self, blocks_of: Callable[[Sequence[Row]], Iterable[Sequence[Tensor | None]]]) -> Gram:
        rows = self._all_rows()
        with torch.no_grad():
            taken = gram_of(len(rows), lambda: blocks_of(rows))
        units = np.array([row.unit for row in rows])
        return taken._replace(matrix=taken.matrix / units[:, None] / units)

    def layers(self) -> dict[str, slice]:
        """Return where each shared parameter stands in an n-vector."""
        return self.layout.slices

    def layer_grams(self) -> dict[str, Matrix]:
        """Return the K×K inner products of the gradients with respect to each shared parameter."""
        return {
            self.layout.names[index]: self._gram_over(partial(self._blocks_of, [index])).matrix
            for index in self.layout.shared
        }

    def gradients(self) -> Tensor:
        """Return the gradients as the rows of a new K×n tensor; prefer `gram`."""
        return dense(self._all_rows(), self.parameters, self.layout.shared)

    def all_gradients(self) -> Tensor:
        """Return the gradients with respect to all parameters, the shared and the others."""
        return dense(self._all_rows(), self.parameters, range(len(self.parameters)))

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
        own = self._own_terms()
        factors = [float(weight) * self._scale for weight in weights]
        shared = self._terms(factors, self.layout.shared, retain_graph=self._retain)
        wide = self._gram is not None and self._gram.cancels(np.asarray(weights))
        self._pending, self._rows = (), []
        self._write(own, shared=False)
        self._write(shared, shared=True, wide=wide)
        self._finish()

    @torch.no_grad()
    def apply_direction(self, direction: Tensor) -> None:
        """Write an n-vector into the parameters' `.grad`, None for a parameter that no loss depends on."""
        own = self._own_terms()
        tensors = [self.parameters[index] for index in self.layout.shared]
        for index, parameter, piece in zip(self.layout.shared, tensors, split(direction, tensors), strict=True):
            used = not self._rows or any(row.block(index) is not None for row in self._rows)
            parameter.grad = None
            if used and parameter.requires_grad:
                # A copy, because a view would keep the whole vector alive and share it with the caller.
                parameter.grad = piece.to(parameter, copy=True).mul_(self._scale)
        if self._joint is not None:
            (bucket,) = self._buckets(shared=True)
            found = StoredRow([parameter.grad for parameter in self.parameters], 1.0, owned=False)
            blocks = bucket.blocks(0)
            self._publish(bucket, blocks, found.fill(blocks), found)
        self._pending, self._rows = (), []
        self._write(own, shared=False)
        self._finish()

    @torch.no_grad()
    def _write(self, terms: Sequence[Term], *, shared: bool, wide: bool = False) -> None:
        """Write the terms' sum into the `.grad` of the shared parameters, or of the others."""
        for bucket in self._buckets(shared=shared):
            first = self.parameters[bucket.indices[0]]
            if bucket.joint and terms and all(term.row.uniform for term in terms):
                blocks, present = bucket.weighted_sum(terms, working_type(first, wide=wide))
                self._publish(bucket, blocks, present, terms[0].row)
                continue
            pairs = [(term.row, term.factor) for term in terms]
            for index in bucket.indices:
                parameter = self.parameters[index]
                parameter.grad = weighted_sum(pairs, index, parameter, wide=wide) if parameter.requires_grad else None

    def _publish(self, bucket: Bucket, blocks: FlatBlocks, present: Sequence[bool], source: Row) -> None:
        """Make the blocks the `.grad` of a bucket's parameters, in memory that `source` owns if it does.

        Memory of the bucket itself may be kept only by the joint vector, which the next step overwrites.
        """
        targets, values = [], []
        for index, view, used in zip(bucket.indices, blocks.views, present, strict=True):
            parameter = self.parameters[index]
            if not used or not parameter.requires_grad:
                parameter.grad = None
            elif self._joint is not None:
                parameter.grad = view
            else:
                block = source.block(index) if source.owned else None
                parameter.grad = torch.empty_like(parameter) if block is None else block
                targets.append(parameter.grad)
                values.append(view)
        if targets:
            torch._foreach_copy_(targets, values)
        if self._joint is not None:
            self._joint.grad = blocks.vector

    def _own_terms(self) -> list[Term]:
        """Return the terms of the unweighted sum, for the parameters that are not shared."""
        ones = [self._scale] * len(self._value_sum)
        return self._terms(ones, self.layout.own, retain_graph=True) if self.layout.own else []

    def _terms(self, factors: Sequence[float], positions: Sequence[int], *, retain_graph: bool) -> list[Term]:
        """Return rows and factors whose sum is `Σ_i c_i g_i` at `positions`."""
        if self._rows:
            pairs = [(row, factor / row.unit) for row, factor in zip(self._rows, factors, strict=True)]
        else:
            pairs = self._differentiate_sum(factors, positions, retain_graph=retain_graph)
        terms = [Term(number, row, factor) for number, (row, factor) in enumerate(pairs)]
        return sorted(terms, key=lambda term: not term.row.owned)  # memory that may become `.grad` comes first

    def _all_rows(self) -> list[Row]:
        if not self._rows:
            if not self._pending:
                raise UserError("there are no losses; a step begins with load, accumulate or load_gradients")
            self._differentiate_each(self._pending, 1.0)
            self._pending = ()
        return self._rows

    def _shared_blocks(self, rows: Sequence[Row]) -> Iterator[list[Tensor | None]]:
        """Yield the K gradients with respect to one bucket of shared parameters after the other."""
        together = all(row.uniform for row in rows)
        for bucket in self._buckets(shared=True):
            if not (bucket.joint and together):
                yield from self._blocks_of(bucket.indices, rows)
                continue
            read = [bucket.read(number, row) for number, row in enumerate(rows)]
            yield [blocks.vector if any(present) else None for blocks, present in read]

    def _blocks_of(self, positions: Sequence[int], rows: Sequence[Row]) -> Iterator[list[Tensor | None]]:
        """Yield the K gradients with respect to one parameter after the other."""
        for index in positions:
            yield [flat(row.block(index), self.parameters[index]) for row in rows]

    def _differentiate_each(self, losses: Sequence[Loss], weight: float) -> None:
        """Add `weight` times each loss's gradient to its row, and free each graph that no further loss needs."""
        rows: list[Row] = []
        for index, (loss, needed) in enumerate(zip(losses, needed_later(losses), strict=True)):
            if isinstance(loss, KnownGradient):
                rows.append(self._known_row(index, loss))
                continue
            before = self._rows[index] if self._rows else None
            blocks = before.blocks if isinstance(before, StoredRow) else self._no_blocks()
            everywhere = range(len(self.parameters))
            retain = needed or self._retain
            blocks = self._traverse([loss], [weight * self._scale], blocks, everywhere, retain_graph=retain)
            rows.append(StoredRow(blocks, self._weight * self._scale, owned=True))
        self._rows = rows
        self._forget()

    def _differentiate_sum(
        self, factors: Sequence[float], positions: Sequence[int], *, retain_graph: bool
    ) -> list[tuple[Row, float]]:
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
            blocks = self._traverse(losses, coefficients, self._no_blocks(), positions, retain_graph=retain_graph)
            terms.append((StoredRow(blocks, 1.0, owned=True), 1.0))
        return terms

    def _known_row(self, index: int, objective: KnownGradient) -> KnownRow:
        if index not in self._scratch:
            self._scratch[index] = Scratch(self.parameters)
        return KnownRow(objective, self.parameters, self._scratch[index])

    def _no_blocks(self) -> Blocks:
        return [None] * len(self.parameters)

    def _traverse(
        self,
        losses: Sequence[Tensor],
        coefficients: Sequence[float],
        blocks: Blocks,
        positions: Sequence[int],
        *,
        retain_graph: bool,
    ) -> Blocks:
        """Add the gradient of `Σ_i c_i L_i` with respect to the parameters at `positions` to `blocks` in one pass."""
        live = [index for index in positions if self.parameters[index].requires_grad]
        if live:
            self.backward_passes += 1
            blocks = add_gradient(losses, coefficients, self.parameters, live, blocks, retain_graph=retain_graph)
            self._check_reached(losses, blocks)
            return blocks
        if any(parameter.requires_grad for parameter in self.parameters):
            return blocks
        raise UserError("every parameter is frozen; at least one must have requires_grad=True")

    def _check_reached(self, losses: Sequence[Tensor], blocks: Blocks) -> None:
        """Look for hidden parameters whenever other ones are reached than before; at every step it would cost 1 %."""
        reached = tuple(block is not None for block in blocks)
        if reached not in self._reached:
            refuse_hidden(losses)
            self._reached.add(reached)

    def _check_continues(self, losses: Sequence[Loss], scale: float) -> None:
        """Refuse a micro-batch that does not fit those before it."""
        if len(losses) != len(self._rows):
            raise UserError(f"this micro-batch has {len(losses)} losses; the one before had {len(self._rows)}")
        for index, (loss, row) in enumerate(zip(losses, self._rows, strict=True)):
            if isinstance(loss, KnownGradient) != isinstance(row, KnownRow):
                raise UserError(f"loss {index} is a tensor in one micro-batch and a closed form in another")
        if scale != self._scale:
            raise UserError(f"the loss scale changed from {self._scale:g} to {scale:g} between micro-batches")
