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
from .spectrum import Factor, Spectrum, decompose, spectral_factor

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
        return [self.all_members(matrix) for _, (matrix,) in matrices(weights, weights)]

    def _norms(self) -> list[Tensor]:
        return [torch.linalg.vector_norm(view, dim=2, keepdim=True) for view in self.views]

    def read(self) -> Tensor:
        norms = self._norms()
        self._factors = [(self.scale / found).masked_fill_(found == 0, 0.0) for found in norms]
        return torch.stack([found.sum((1, 2), dtype=torch.float64) for found in norms]).sum(0) * self.scale

    def _write(self, number: int, target: Tensor) -> None:
        torch.mul(self.views[number], self._factors[number], out=target)

    def shrink(self, thresholds: Tensor) -> None:
        each = thresholds[:, None, None]
        for view, norms in zip(self.views, self._norms(), strict=True):
            view.mul_(torch.where(norms > each, 1.0 - norms.reciprocal() * each, 0.0))


class StackedNuclear(StackedPenalty):
    """s·Σ_ℓ ‖W_ℓ‖_* of every member, see `Nuclear`; a batched decomposition for each layer."""

    def _views(self, weights: Weights) -> list[Tensor]:
        return [self.all_members(as_matrix(weight)) for weight in weights.values()]

    def read(self) -> Tensor:
        values, self._factors = [], []
        for view in self.views:
            norm, factor = self._prepared(*_spectrum(view), view.dtype)
            values.append(norm)
            self._factors.append(factor)
        return torch.stack(values).sum(0)

    def _prepared(self, spectrum: Spectrum, finite: Tensor, dtype: torch.dtype) -> tuple[Tensor, Factor]:
        norms = spectrum.values.sum(-1) * self.scale
        factor = spectral_factor(spectrum, lambda values: self.scale / values, dtype)
        return torch.where(finite, norms, torch.nan), factor

    def _write(self, number: int, target: Tensor) -> None:
        self._factors[number].write(self.views[number], target)

    def shrink(self, thresholds: Tensor) -> None:
        wide = thresholds.double()[:, None]
        for view in self.views:
            spectrum, _ = _spectrum(view)
            factor = spectral_factor(spectrum, lambda found: (1.0 - wide / found).clamp_min(0.0), view.dtype)
            softened = torch.empty_like(view)
            factor.write(view, softened)
            view.copy_(torch.where(thresholds[:, None, None] > 0, softened, view))


def _spectrum(view: Tensor) -> tuple[Spectrum, Tensor]:
    """Return the members' spectra, zeros where a matrix is not finite, and whose are finite."""
    finite = torch.isfinite(view.sum((1, 2)))
    if not bool(finite.all()):
        view = torch.where(finite[:, None, None], view, 0.0)
    return decompose([view]), finite
