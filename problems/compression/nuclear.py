"""The nuclear norm of every layer, from one eigen-decomposition of its short side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from mobench.core.device_path import as_on_cpu

from .filters import Joined, as_matrix, stacks
from .layer_pool import for_each_layer
from .penalties import Penalty
from .spectrum import (
    Factor,
    OnCpu,
    Spectrum,
    decompose,
    factor_on,
    singular_values,
    spectral_factor,
    without_rounding,
)

Family = Sequence[Joined]
"""Stacks of weights that are decomposed together."""


class Nuclear(Penalty):
    """s·Σ_ℓ ‖W_ℓ‖_*, each weight read as C_out × (C_in·k·k).

    With W = U S Vᵀ restricted to the nonzero singular values, the subgradient is s·U Vᵀ, the element
    of smallest norm; an SVD would fill the null space of a rank-deficient layer with noise of unit
    size instead. It is kept as s·U S⁻¹ Uᵀ on the short side, a fraction of the weights, and multiplied by W
    when it is asked for. The proximal map is U max(S − t, 0) Vᵀ. It leaves the basis as it is, so that the
    `update` after it needs no decomposition of its own.

    On a CPU each layer is computed by itself, on a core of its own. Elsewhere layers of one shape form a stack, and
    stacks of one short side a family, which is decomposed at once.
    """

    _ahead: Tensor | None = None
    """The value, where a proximal step has prepared the next update."""

    def __init__(self, parameters: Sequence[Tensor], penalised: Iterable[int], scale: float = 1.0) -> None:
        super().__init__(parameters, penalised, scale)
        self._on_cpu = OnCpu()

    def rearrange(self, weights: Mapping[int, Tensor]) -> None:
        stacks = _stacks(weights, weights)
        self._stacks = [stack.indices for stack in stacks]
        self._families = _families(stacks)
        self._factors: dict[int, Factor] = {}
        """By the first weight of a stack."""
        self._ahead = None

    def _read(self, weights: Mapping[int, Tensor]) -> Tensor:
        total, self._ahead = self._ahead, None
        return self._for_each_family(self._prepare) if total is None else total

    def _prepare(self, family: Family) -> Tensor:
        return self._keep(family, decompose(_matrices(family), self._on_cpu))

    def _keep(self, family: Family, spectrum: Spectrum) -> Tensor:
        """Keep what the subgradient needs, and return the norm."""
        matrices = _matrices(family)
        factor = spectral_factor(spectrum, lambda values: self.scale / values, matrices[0].dtype)
        self._factors |= zip((stack.indices[0] for stack in family), factor.divided(matrices), strict=True)
        return spectrum.values.sum() * self.scale

    def evaluate(self) -> float:
        def norm(family: Family) -> Tensor:
            return singular_values(_matrices(family)).sum() * self.scale

        return float(_total(norm, _families(_stacks(weights := self.weights, weights))))

    def shrink(self, threshold: float) -> None:
        def soften(family: Family) -> Tensor:
            matrices = _matrices(family)
            values, basis = decompose(matrices, self._on_cpu)
            factor = spectral_factor(
                Spectrum(values, basis), lambda found: (1.0 - threshold / found).clamp_min(0.0), matrices[0].dtype
            )
            for matrix, part in zip(matrices, factor.divided(matrices), strict=True):
                part.write(matrix, matrix)
            return self._keep(family, Spectrum(without_rounding((values - threshold).clamp_min(0.0)), basis))

        self.seen()
        self._ahead = self._for_each_family(soften)

    def outdate(self) -> None:
        self._ahead = None

    def _for_each_family(self, function: Callable[[Family], Tensor]) -> Tensor:
        return _total(function, self._families)

    def gradient(self, index: int) -> Tensor | None:
        weight = self.weight(index)
        return None if weight is None else self.gradient_into(index, torch.empty_like(weight))

    def gradient_into(self, index: int, out: Tensor) -> Tensor | None:
        weight = self.weight(index)
        if weight is None:
            return None
        self.write(Joined((index,), (_in_stack(weight), _in_stack(out))))
        return out

    def plan(self, weights: Mapping[int, Tensor], targets: Mapping[int, Tensor]) -> list[Joined]:
        return _stacks({index: weights[index] for index in targets}, targets)

    def write(self, group: Joined) -> None:
        weight, target = group.tensors
        stack = next(indices for indices in self._stacks if group.indices[0] in indices)
        factor = self._factors[stack[0]]
        if factor.left is not None and len(group.indices) < len(stack):
            start = stack.index(group.indices[0])
            factor = Factor(factor.left[start : start + len(group.indices)])
        factor.write(weight, target)

    def fallbacks(self) -> dict[str, int]:
        return {"eigen": self._on_cpu.count}

    def state_dict(self) -> dict[str, Any]:
        state: dict[str, Any] = {"on_cpu": self._on_cpu.count}
        if self._ahead is None:
            return state
        factors = {first: tuple(factor) for first, factor in self._factors.items()}
        return {**state, "ahead": self._ahead, "factors": factors}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore it, on the device of the weights; what another kind of device prepared is left to the next update."""
        first = next(iter(self.seen().values()))
        found = {index: factor_on(first.device, factor) for index, factor in state.get("factors", {}).items()}
        grouped = found.keys() == {stack[0] for stack in self._stacks}
        sides = 2 if as_on_cpu(first.device) else 3
        self._ahead = None
        self._on_cpu.count = state.get("on_cpu", 0)
        if grouped and all(factor.left is None or factor.left.ndim == sides for factor in found.values()):
            self._ahead, self._factors = state["ahead"].to(first.device), found


def _stacks(weights: Mapping[int, Tensor], targets: Mapping[int, Tensor]) -> list[Joined]:
    """Return stacks of weights, and of what goes with them."""
    given = (weights,) if targets is weights else (weights, targets)
    if any(as_on_cpu(weight.device) for weight in weights.values()):
        return [Joined((index,), tuple(as_matrix(layers[index]) for layers in given)) for index in weights]
    return stacks(weights, *given)


def _in_stack(weight: Tensor) -> Tensor:
    return as_matrix(weight) if as_on_cpu(weight.device) else as_matrix(weight).unsqueeze(0)


def _families(stacks: Iterable[Joined]) -> dict[int, Family]:
    """Return the stacks that are decomposed together, by their first weight."""
    found: dict[object, list[Joined]] = {}
    for stack in stacks:
        (matrix,) = stack.tensors
        alone = stack.indices if as_on_cpu(matrix.device) else None
        found.setdefault((matrix.device, matrix.dtype, min(matrix.shape[-2:]), alone), []).append(stack)
    return {family[0].indices[0]: family for family in found.values()}


def _matrices(family: Family) -> list[Tensor]:
    return [stack.tensors[0] for stack in family]


def _total(function: Callable[[Family], Tensor], families: Mapping[int, Family]) -> Tensor:
    """Return the sum of `function` over all families, each on a core of its own where it is a CPU."""
    firsts = {first: family[0].tensors[0] for first, family in families.items()}
    return torch.stack(for_each_layer(lambda first, _: function(families[first]), firsts)).sum()
