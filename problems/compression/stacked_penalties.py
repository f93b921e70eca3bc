"""Penalties of B networks at once: the same closed forms over matrices with the members in front.

Rows of a B×n matrix hold the members' weights side by side, filters of one length together, so that each view below
is B × filters × length, or B × rows × columns for a layer. What is not finite stays in its member.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import torch
from torch import Tensor

from .filters import as_matrix, matrices, vectors
from .spectrum import Spectra, decompose_each

Weights = Mapping[int, Tensor]
"""The first member's penalised weights, by their position among its parameters."""


class StackedPenalty(ABC):
    """A penalty of every member, times `scale`."""

    def __init__(self, theta: Tensor, weights: Weights, scale: float) -> None:
        """Take the B×n matrix whose first row `weights` are parts of."""
        self.theta = theta.detach()
        self.scale = scale
        self.views = self._views(weights)
        self._targets: tuple[Tensor, list[Tensor]] | None = None

    @abstractmethod
    def _views(self, weights: Weights) -> list[Tensor]:
        """Return the weights of all members as few views with B in front."""

    def all_members(self, part: Tensor) -> Tensor:
        """Return what the other rows hold where `part` is in the first."""
        theta = self.theta
        return theta.as_strided((len(theta), *part.shape), (theta.stride(0), *part.stride()), part.storage_offset())

    @abstractmethod
    def read(self) -> Tensor:
        """Prepare the gradients at the current weights, and return the B values in float64."""

    def write(self, rows: Tensor) -> None:
        """Write the gradients into a B×n tensor; what is not penalised is left as it is."""
        if self._targets is None or self._targets[0] is not rows:
            start = rows.storage_offset() - self.theta.storage_offset()
            self._targets = (
                rows,
                [
                    rows.as_strided(view.shape, (rows.stride(0), *view.stride()[1:]), view.storage_offset() + start)
                    for view in self.views
                ],
            )
        for number, target in enumerate(self._targets[1]):
            self._write(number, target)

    @abstractmethod
    def _write(self, number: int, target: Tensor) -> None:
        """Write the gradients with respect to view number `number`."""

    @abstractmethod
    def shrink(self, thresholds: Tensor) -> None:
        """Apply the proximal map to the weights of each member with its own threshold, nothing where that is 0."""


class StackedL1(StackedPenalty):
    """s·Σ|θ_i| of every member."""

    def _views(self, weights: Weights) -> list[Tensor]:
        return [self.all_members(vector) for _, (vector,) in vectors(weights, weights)]

    def read(self) -> Tensor:
        total = torch.stack([view.abs().sum(1) for view in self.views]).sum(0, dtype=torch.float64)
        return total * self.scale

    def _write(self, number: int, target: Tensor) -> None:
        torch.sign(self.views[number], out=target)
        if self.scale != 1.0:
            target.mul_(self.scale)

    def shrink(self, thresholds: Tensor) -> None:
        for view in self.views:
            view.copy_(torch.sign(view) * (view.abs() - thresholds[:, None]).clamp_min_(0.0))


class StackedGroupLasso(StackedPenalty):
    """s·Σ_g ‖θ_g‖₂ of every member, one group per output filter."""

    def _views(self, weights: Weights) -> list[Tensor]:
        views = [self.all_members(matrix) for _, (matrix,) in matrices(weights, weights)]
        filters = [view.shape[1] for view in views]
        self._norms = torch.empty(len(self.theta), sum(filters), 1, dtype=self.theta.dtype)
        self._parts = torch.split(self._norms, filters, dim=1)
        return views

    def _measure(self) -> None:
        for view, part in zip(self.views, self._parts, strict=True):
            torch.linalg.vector_norm(view, dim=2, keepdim=True, out=part)

    def read(self) -> Tensor:
        self._measure()
        factors = (self.scale / self._norms).masked_fill_(self._norms == 0, 0.0)
        self._factors = torch.split(factors, [part.shape[1] for part in self._parts], dim=1)
        return torch.stack([part.sum((1, 2), dtype=torch.float64) for part in self._parts]).sum(0) * self.scale

    def _write(self, number: int, target: Tensor) -> None:
        torch.mul(self.views[number], self._factors[number], out=target)

    def shrink(self, thresholds: Tensor) -> None:
        each = thresholds[:, None, None]
        self._measure()
        for view, norms in zip(self.views, self._parts, strict=True):
            view.mul_(torch.where(norms > each, 1.0 - norms.reciprocal() * each, 0.0))


class StackedNuclear(StackedPenalty):
    """s·Σ_ℓ ‖W_ℓ‖_* of every member, see `Nuclear`; a batched decomposition for each layer."""

    def _views(self, weights: Weights) -> list[Tensor]:
        return [self.all_members(as_matrix(weight)) for weight in weights.values()]

    def read(self) -> Tensor:
        spectra, finite = self._spectra()
        norms = spectra.norms() * self.scale
        self._factors = spectra.factors(lambda values: self.scale / values)
        return (norms if finite is None else torch.where(finite, norms, torch.nan)).sum(0)

    def _spectra(self) -> tuple[Spectra, Tensor | None]:
        """Return the spectra of each layer, zeros where a member's matrix is not finite.

        Beside them whose are finite (layers × B); None where all are, which one look at everything tells.
        """
        views, finite = self.views, None
        if not bool(torch.isfinite(self.theta.sum())):
            finite = torch.stack([torch.isfinite(view.sum((1, 2))) for view in views])
            pairs = zip(finite[:, :, None, None], views, strict=True)
            views = [torch.where(mask, view, 0.0) for mask, view in pairs]
        return decompose_each(views), finite

    def _write(self, number: int, target: Tensor) -> None:
        self._factors[number].write(self.views[number], target)

    def shrink(self, thresholds: Tensor) -> None:
        wide = thresholds.double()[:, None]
        spectra, _ = self._spectra()
        factors = spectra.factors(lambda found: (1.0 - wide / found).clamp_min(0.0))
        for view, factor in zip(self.views, factors, strict=True):
            softened = torch.empty_like(view)
            factor.write(view, softened)
            view.copy_(torch.where(thresholds[:, None, None] > 0, softened, view))


class StackedQuantisation(StackedPenalty):
    """s·Σ_ℓ ‖W_ℓ − Q(W_ℓ)‖² / ‖W_ℓ‖² of every member, see `Quantisation`."""

    def __init__(self, theta: Tensor, weights: Weights, scale: float, *, bits: int) -> None:
        super().__init__(theta, weights, scale)
        self.levels = 2 ** (bits - 1) - 1

    def _views(self, weights: Weights) -> list[Tensor]:
        return [self.all_members(vector) for index in weights for _, (vector,) in vectors([index], weights)]

    def read(self) -> Tensor:
        self._layers = [_Rounded(view, self.levels) for view in self.views]
        return torch.stack([layer.relative_error for layer in self._layers]).sum(0) * self.scale

    def _write(self, number: int, target: Tensor) -> None:
        torch.mul(self._layers[number].slope(), self.scale, out=target)

    def shrink(self, thresholds: Tensor) -> None:
        raise NotImplementedError("the quantisation error has no proximal map")


class _Rounded:
    """A layer of all members (B×n) beside the nearest points of its grids."""

    def __init__(self, weights: Tensor, levels: int) -> None:
        self._weights, self._levels = weights, levels
        largest, self._largest = weights.abs().max(1, keepdim=True)
        step = largest / levels
        self._places = (weights / step).round_().masked_fill_(step == 0, 0.0)
        self._off = weights - step * self._places
        self._size = weights.double().square().sum(1, keepdim=True)
        share = self._off.double().square().sum(1, keepdim=True) / self._size
        self._share = share.masked_fill_(self._size == 0, 0.0)
        self.relative_error = self._share[:, 0]

    def slope(self) -> Tensor:
        """Return the gradient of the relative errors."""
        weights, dtype = self._weights, self._weights.dtype
        through_step = -(self._off * self._places).sum(1, keepdim=True) / self._levels
        at_largest = weights.gather(1, self._largest).sign_() * through_step
        slope = self._off.scatter(1, self._largest, at_largest).sub_(self._share.to(dtype) * weights)
        return slope.mul_((2.0 / self._size).to(dtype)).masked_fill_(self._size == 0, 0.0)
