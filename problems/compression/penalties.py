"""Group lasso, ℓ1 and nuclear norm of a network's weights: values, subgradients and proximal maps in closed form.

A penalty lives as long as the network. `update()` reads the current weights once per step; after
that `value` and the gradient describe this point. Rows are a cheap map of the weights and are computed
whenever they are asked for, so that nothing of the parameters' size is stored. The nuclear norm keeps a
matrix of the short side for each layer, because an eigen-decomposition stands behind it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from mobench.core.device_path import as_on_cpu
from mobench.core.flat import FlatBlocks, place
from mobench.core.objective import KnownGradient

from .filters import Joined, filter_norms, matrices, per_filter, vectors

_LONGEST_ON_CPU, _LONGEST_ON_DEVICES = 2**20, 2**23
"""How many numbers are summed in one operation, which needs as much memory."""


class Penalty(KnownGradient):
    """A convex function of the penalised weights, times `scale`.

    `parameters` is the trained list, in the trainer's order; `penalised` are positions in it.
    """

    def __init__(self, parameters: Sequence[Tensor], penalised: Iterable[int], scale: float = 1.0) -> None:
        self.scale = scale
        self._penalised = {index: parameters[index] for index in sorted(set(penalised))}
        self._seen: dict[int, Tensor] = {}
        self._places: list[tuple[int, int]] = []
        self._plans: WeakKeyDictionary[FlatBlocks, tuple[list[bool], list[Joined]]] = WeakKeyDictionary()

    @property
    def weights(self) -> dict[int, Tensor]:
        """The penalised weights as they are now, without a graph."""
        return {index: parameter.detach() for index, parameter in self._penalised.items()}

    def weight(self, index: int) -> Tensor | None:
        """Return one penalised weight as it is now, None where the parameter is not penalised."""
        parameter = self._penalised.get(index)
        return None if parameter is None else parameter.detach()

    def seen(self) -> dict[int, Tensor]:
        """Return the weights, whose views are kept until they move in memory; `rearrange` then makes what else is."""
        places = [place(parameter) for parameter in self._penalised.values()]
        if places != self._places:
            self._places = places
            self._seen = self.weights
            self._plans.clear()
            self.rearrange(self._seen)
        return self._seen

    @abstractmethod
    def rearrange(self, weights: Mapping[int, Tensor]) -> None:
        """Prepare for weights that have moved in memory."""

    def update(self) -> None:
        """Read the current weights: set `value` and what the gradient needs."""
        total = self._read(self.seen())
        self.value = total.item() if as_on_cpu(total.device) else total

    @abstractmethod
    def _read(self, weights: Mapping[int, Tensor]) -> Tensor:
        """Prepare the gradient at `weights`, and return the value in float64."""

    @abstractmethod
    def evaluate(self) -> float:
        """Return the value at the current weights and leave `value` and the gradient as they are."""

    @abstractmethod
    def shrink(self, threshold: float) -> None:
        """Apply the proximal map to the weights in place: argmin_X ½‖X − W‖² + t·R(X), R without `scale`."""

    def outdate(self) -> None:
        """Forget what a proximal step found out about the weights, because they have changed since."""

    def gradients_into(self, out: FlatBlocks) -> Sequence[bool]:
        if out not in self._plans:
            seen = self.seen()
            views = {index: view for index, view in zip(out.indices, out.views, strict=True) if index in seen}
            self._plans[out] = [index in seen for index in out.indices], self.plan(seen, views)
        present, groups = self._plans[out]
        if not all(present):
            out.vector.zero_()
        for group in groups:
            self.write(group)
        return present

    @abstractmethod
    def plan(self, weights: Mapping[int, Tensor], targets: Mapping[int, Tensor]) -> list[Joined]:
        """Return pairs of weights and where their gradient goes, for those that have a target."""

    @abstractmethod
    def write(self, group: Joined) -> None:
        """Write the gradient of a planned pair."""

    def fallbacks(self) -> dict[str, int]:
        """Return how often a device could not do something and the CPU did, by what it was."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Return what the next step depends on besides the weights."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""


class L1(Penalty):
    """s·Σ|θ_i|, with subgradient s·sign(θ_i), zero at zero, and proximal map sign(w)·max(|w| − t, 0)."""

    def rearrange(self, weights: Mapping[int, Tensor]) -> None:
        self._vectors = _long_vectors(weights)

    def _read(self, weights: Mapping[int, Tensor]) -> Tensor:
        return _sum_of_magnitudes(self._vectors) * self.scale

    def evaluate(self) -> float:
        return float(_sum_of_magnitudes(_long_vectors(self.weights)) * self.scale)

    def gradient(self, index: int) -> Tensor | None:
        weight = self.weight(index)
        return None if weight is None else torch.sign(weight).mul_(self.scale)

    def gradient_into(self, index: int, out: Tensor) -> Tensor | None:
        weight = self.weight(index)
        return None if weight is None else torch.sign(weight, out=out).mul_(self.scale)

    def plan(self, weights: Mapping[int, Tensor], targets: Mapping[int, Tensor]) -> list[Joined]:
        return vectors(targets, weights, targets)

    def write(self, group: Joined) -> None:
        weight, target = group.tensors
        torch.sign(weight, out=target)
        if self.scale != 1.0:
            target.mul_(self.scale)

    def shrink(self, threshold: float) -> None:
        self.seen()
        for _, (weight,) in self._vectors:
            torch.ops.aten.softshrink.out(weight, threshold, out=weight)


class GroupLasso(Penalty):
    """s·Σ_g ‖θ_g‖₂, one group per output filter, all of weight one.

    The subgradient is s·θ_g/‖θ_g‖, and zero on a group that is zero: the element of smallest norm. The
    proximal map is θ_g·max(1 − t/‖θ_g‖, 0).
    """

    def rearrange(self, weights: Mapping[int, Tensor]) -> None:
        self._matrices = matrices(weights, weights)
        self._starts: dict[int, int] = {}
        start = 0
        for group in self._matrices:
            for index in group.indices:
                self._starts[index] = start
                start += len(weights[index])
        first = next(iter(weights.values()))
        self._norms, self._factors = (torch.zeros(start, dtype=first.dtype, device=first.device) for _ in range(2))

    def _read_norms(self) -> Tensor:
        norms: Tensor = torch.cat([filter_norms(matrix) for _, (matrix,) in self._matrices], out=self._norms)
        return norms

    def _read(self, weights: Mapping[int, Tensor]) -> Tensor:
        norms = self._read_norms()
        torch.reciprocal(norms, out=self._factors).mul_(self.scale).masked_fill_(norms == 0, 0.0)
        return norms.sum(dtype=torch.float64) * self.scale

    def evaluate(self) -> float:
        sums = [filter_norms(weight).sum(dtype=torch.float64) for weight in self.weights.values()]
        return self.scale * float(torch.stack(sums).sum())

    def _factor(self, indices: Sequence[int]) -> Tensor:
        """Return the factors of weights that follow each other, one for each filter."""
        filters = sum(len(self._penalised[index]) for index in indices)
        start = self._starts[indices[0]]
        return self._factors[start : start + filters]

    def gradient(self, index: int) -> Tensor | None:
        weight = self.weight(index)
        return None if weight is None else weight * per_filter(self._factor([index]), weight)

    def gradient_into(self, index: int, out: Tensor) -> Tensor | None:
        weight = self.weight(index)
        return None if weight is None else torch.mul(weight, per_filter(self._factor([index]), weight), out=out)

    def plan(self, weights: Mapping[int, Tensor], targets: Mapping[int, Tensor]) -> list[Joined]:
        return [
            Joined(indices, (*tensors, self._factor(indices).unsqueeze(1)))
            for indices, tensors in matrices(targets, weights, targets)
        ]

    def write(self, group: Joined) -> None:
        weight, target, factor = group.tensors
        torch.mul(weight, factor, out=target)

    def shrink(self, threshold: float) -> None:
        self.seen()
        norms = self._read_norms()
        factors = torch.where(norms > threshold, 1.0 - threshold / norms, 0.0)
        for indices, (matrix,) in self._matrices:
            start = self._starts[indices[0]]
            matrix.mul_(factors[start : start + len(matrix)].unsqueeze(1))


def _long_vectors(weights: Mapping[int, Tensor]) -> list[Joined]:
    on_cpu = all(as_on_cpu(weight.device) for weight in weights.values())
    return vectors(weights, weights, longest=_LONGEST_ON_CPU if on_cpu else _LONGEST_ON_DEVICES)


def _sum_of_magnitudes(stretches: Sequence[Joined]) -> Tensor:
    """Return Σ|θ_i| in float64; float32 sums are over stretches of limited length."""
    sums = [vector.abs().sum() for _, (vector,) in stretches]
    return torch.stack(sums).sum(dtype=torch.float64)


@torch.no_grad()
def proximal_step(penalties: Sequence[Penalty], threshold: float) -> None:
    """Apply the penalties' proximal maps, in the given order, with threshold t ≥ 0.

    A proximal step sets small weights, filters or singular values to exactly zero, which a subgradient
    step never does. It follows an optimizer step with t = λ·lr, the same for every method.
    """
    for penalty in penalties:
        penalty.shrink(threshold)
    for penalty in penalties[:-1]:
        penalty.outdate()
