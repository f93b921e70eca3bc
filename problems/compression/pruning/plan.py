"""Which filters to remove for a wanted reduction: the smallest first, counting as they go.

All prunable filters of the network are ordered by norm ‖θ_g‖₂. Filters go in that order until the
fraction of removed parameters (of all the network's parameters) first reaches the target; the last
filter of a layer stays. What a filter's removal saves depends on what is already gone: the count is
exact at every step.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn

from mobench.errors import UserError

from ..filters import filter_norms
from .structure import OUTPUT, PrunableLayer, Structure, is_depthwise


@dataclass(frozen=True)
class PruningPlan:
    """The filters to remove of each convolution, and what that leaves."""

    removed: dict[str, tuple[int, ...]]
    parameters_before: int
    parameters_after: int

    @property
    def reduction(self) -> float:
        """The fraction of the network's parameters that is removed."""
        return 1 - self.parameters_after / self.parameters_before


class Planner:
    """The order of removal of a network's filters at its current weights."""

    def __init__(self, model: nn.Module, structure: Structure) -> None:
        self.parameters = sum(parameter.numel() for parameter in model.parameters())
        self._order, self._norms, self._gone = _removal_order(model, structure)

    @property
    def maximum(self) -> float:
        """The largest reduction that leaves every layer at least one filter."""
        return self._gone[-1] / self.parameters if self._gone else 0.0

    def plan(self, target: float) -> PruningPlan:
        """Return the fewest removals, in order, that reach the reduction `target`."""
        if not 0 < target < 1:
            raise UserError(f"target={target} is not accepted; target takes a number in (0, 1)")
        if target > self.maximum:
            raise UserError(
                f"target={target} cannot be reached: at most {self.maximum:.4f} of the {self.parameters:,} parameters "
                "can be removed without emptying a layer or touching channels of a residual sum"
            )
        return self._prefix(bisect_left(self._gone, target * self.parameters) + 1)

    def plan_maximum(self) -> PruningPlan:
        """Return the plan that removes as much as can be removed."""
        return self._prefix(len(self._order))

    def plan_below(self, norm: float) -> PruningPlan:
        """Return the plan that removes the filters of smaller norm."""
        return self._prefix(bisect_left(self._norms, norm))

    def _prefix(self, length: int) -> PruningPlan:
        removed: dict[str, list[int]] = {}
        for path, index in self._order[:length]:
            removed.setdefault(path, []).append(index)
        gone = self._gone[length - 1] if length else 0
        chosen = {path: tuple(sorted(indices)) for path, indices in removed.items()}
        return PruningPlan(chosen, self.parameters, self.parameters - gone)


@dataclass
class _Size:
    """Parameters of a layer: outputs · (inputs · area + extra)."""

    outputs: int
    inputs: int
    area: int
    extra: int

    @classmethod
    def of(cls, module: nn.Module) -> _Size:
        own = sum(parameter.shape[0] == parameter.numel() for parameter in module.parameters())
        if isinstance(module, nn.Linear):
            return cls(module.out_features, module.in_features, 1, own)
        if not isinstance(module, nn.Conv2d):
            assert isinstance(module, nn.BatchNorm2d)
            return cls(module.num_features, 0, 0, own)
        area = module.kernel_size[0] * module.kernel_size[1]
        bias = int(module.bias is not None)
        if is_depthwise(module):
            return cls(module.out_channels, 0, 0, area + bias)
        return cls(module.out_channels, module.in_channels, area, bias)

    def shrink(self, side: str, count: int) -> int:
        """Take `count` entries off one side; return how many parameters that removes."""
        if side == OUTPUT:
            self.outputs -= count
            return count * (self.inputs * self.area + self.extra)
        self.inputs -= count
        return count * self.outputs * self.area


def _removal_order(model: nn.Module, structure: Structure) -> tuple[list[tuple[str, int]], list[float], list[int]]:
    """Return the removable filters, smallest first, their norms, and the parameters gone after each."""
    paths = {part.path for layer in structure.layers for part in layer.slices}
    sizes = {path: _Size.of(model.get_submodule(path)) for path in paths}
    left = {layer.path: layer.filters for layer in structure.layers}
    order, norms, gone, total = [], [], [], 0
    for norm, _, index, layer in sorted(_ranked(model, structure.layers), key=lambda entry: entry[:3]):
        if left[layer.path] == 1:
            continue
        left[layer.path] -= 1
        total += sum(sizes[part.path].shrink(part.side, len(part.positions[index])) for part in layer.slices)
        order.append((layer.path, index))
        norms.append(norm)
        gone.append(total)
    return order, norms, gone


@torch.no_grad()
def _ranked(model: nn.Module, layers: Iterable[PrunableLayer]) -> list[tuple[float, int, int, PrunableLayer]]:
    """Return norm, layer number, filter and layer of every prunable filter; equal norms keep this order."""
    ranked = []
    for number, layer in enumerate(layers):
        norms = filter_norms(model.get_submodule(layer.path).get_parameter("weight")).tolist()
        ranked += [(norm, number, index, layer) for index, norm in enumerate(norms)]
    return ranked
