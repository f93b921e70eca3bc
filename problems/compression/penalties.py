"""Group lasso, ℓ1 and nuclear norm of a network's weights: values and subgradients in closed form.

A penalty lives as long as the network. `update()` reads the current weights once per step; after
that `value` and `gradient(index)` describe this point. Rows that are a cheap sweep over the weights
are recomputed whenever they are asked for, so that nothing of the parameters' size is stored; only
the nuclear norm keeps its row, because an eigen-decomposition of every layer stands behind it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from mobench.core.objective import KnownGradient

from .layer_pool import for_each_layer
from .spectrum import as_matrix, singular_values, spectral_map


class Penalty(KnownGradient):
    """A convex function of the penalised weights, times `scale`.

    `parameters` is the trained list, in the trainer's order; `penalised` are positions in it.
    """

    def __init__(self, parameters: Sequence[Tensor], penalised: Iterable[int], scale: float = 1.0) -> None:
        self.scale = scale
        self._penalised = {index: parameters[index] for index in sorted(set(penalised))}

    @property
    def weights(self) -> dict[int, Tensor]:
        """The penalised weights as they are now, without a graph."""
        return {index: parameter.detach() for index, parameter in self._penalised.items()}

    def weight(self, index: int) -> Tensor | None:
        """Return one penalised weight as it is now, None where the parameter is not penalised."""
        parameter = self._penalised.get(index)
        return None if parameter is None else parameter.detach()

    @abstractmethod
    def update(self) -> None:
        """Read the current weights: set `value` and what `gradient` needs."""

    @abstractmethod
    def evaluate(self) -> float:
        """Return the value at the current weights and leave `value` and the gradient as they are."""


class L1(Penalty):
    """s·Σ|θ_i|, with subgradient s·sign(θ_i), zero at zero."""

    def update(self) -> None:
        self.value = self.evaluate()

    def evaluate(self) -> float:
        return self.scale * _total(weight.abs().sum() for weight in self.weights.values())

    def gradient(self, index: int) -> Tensor | None:
        weight = self.weight(index)
        return None if weight is None else torch.sign(weight).mul_(self.scale)

    def gradient_into(self, index: int, out: Tensor) -> Tensor | None:
        weight = self.weight(index)
        return None if weight is None else torch.sign(weight, out=out).mul_(self.scale)


class GroupLasso(Penalty):
    """s·Σ_g ‖θ_g‖₂, one group per output filter, all of weight one.

    The subgradient is s·θ_g/‖θ_g‖, and zero on a group that is zero: the element of smallest norm.
    """

    def update(self) -> None:
        norms = {index: filter_norms(weight) for index, weight in self.weights.items()}
        self.value = self.scale * _total(norm.sum() for norm in norms.values())
        self._factors = {
            index: per_filter(_reciprocal(norm).mul_(self.scale), self._penalised[index])
            for index, norm in norms.items()
        }

    def evaluate(self) -> float:
        return self.scale * _total(filter_norms(weight).sum() for weight in self.weights.values())

    def gradient(self, index: int) -> Tensor | None:
        weight = self.weight(index)
        return None if weight is None else weight * self._factors[index]

    def gradient_into(self, index: int, out: Tensor) -> Tensor | None:
        weight = self.weight(index)
        return None if weight is None else torch.mul(weight, self._factors[index], out=out)


class Nuclear(Penalty):
    """s·Σ_ℓ ‖W_ℓ‖_*, each weight read as C_out × (C_in·k·k).

    With W = U S Vᵀ restricted to the nonzero singular values, the subgradient is s·U Vᵀ, the element
    of smallest norm; an SVD would fill the null space of a rank-deficient layer with noise of unit
    size instead. The row is stored: one copy of the penalised weights.
    """

    def __init__(self, parameters: Sequence[Tensor], penalised: Iterable[int], scale: float = 1.0) -> None:
        super().__init__(parameters, penalised, scale)
        self._rows = {index: torch.empty_like(weight) for index, weight in self.weights.items()}

    def update(self) -> None:
        def multiplier(values: Tensor) -> Tensor:
            return self.scale / values

        def fill_row(index: int, weight: Tensor) -> Tensor:
            return spectral_map(as_matrix(weight), multiplier, as_matrix(self._rows[index])).sum()

        self.value = self.scale * _total(for_each_layer(fill_row, self.weights))

    def evaluate(self) -> float:
        def norm(index: int, weight: Tensor) -> Tensor:
            return singular_values(as_matrix(weight)).sum()

        return self.scale * _total(for_each_layer(norm, self.weights))

    def gradient(self, index: int) -> Tensor | None:
        return self._rows.get(index)


def filter_norms(weight: Tensor) -> Tensor:
    """Return ‖θ_g‖₂ of every output filter."""
    norms: Tensor = torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.ndim)))
    return norms


def per_filter(numbers: Tensor, weight: Tensor) -> Tensor:
    """Shape one number per output filter so that it multiplies the whole filter."""
    return numbers.view(-1, *(1,) * (weight.ndim - 1))


def _reciprocal(norms: Tensor) -> Tensor:
    return torch.where(norms > 0, norms.reciprocal(), 0.0)


def _total(sums: Iterable[Tensor]) -> float:
    """Add the layers' sums in float64, with one transfer from the device."""
    return float(torch.stack([part.double() for part in sums]).sum())
