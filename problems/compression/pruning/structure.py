"""Which filters of a network can be removed, and what goes with each of them.

Removing output filter c of a convolution removes entries of other layers too: scale and shift of
the BatchNorms that follow, the same channel of a depthwise convolution, and one slice of the input
of every consumer, at an offset where channels were concatenated. Torch-Pruning's dependency graph
finds them by tracing one forward pass. A filter whose channel is added to other filters' channels
(a residual sum) cannot go alone and is left in place.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch_pruning
from torch import Tensor, nn

from mobench.errors import UserError

OUTPUT, INPUT = "output", "input"


@dataclass(frozen=True)
class Slice:
    """The entries of one layer's output or input dimension that belong to a convolution's filters."""

    path: str
    side: str
    positions: tuple[tuple[int, ...], ...]
    """For each filter, its positions along the dimension; several where pixels were flattened."""

    def of(self, filters: Iterable[int]) -> list[int]:
        """Return the positions that belong to the given filters."""
        return [position for index in filters for position in self.positions[index]]


@dataclass(frozen=True)
class PrunableLayer:
    """A convolution whose filters can be removed one by one, with all that goes with them."""

    path: str
    filters: int
    slices: tuple[Slice, ...]


@dataclass(frozen=True)
class Structure:
    """The prunable convolutions of a network, and the BatchNorm that alone reads a layer's output."""

    layers: tuple[PrunableLayer, ...]
    normalised_by: dict[str, str]


def trace(model: nn.Module, weights: Iterable[str], example: Tensor) -> Structure:
    """Return what can be removed of the convolutions that own the named `weights`.

    `example` is a batch of inputs of the right shape; `model` itself is not touched.
    """
    traced = copy.deepcopy(model).requires_grad_(True)
    graph = torch_pruning.DependencyGraph()
    with torch.enable_grad():
        graph.build_dependency(traced, example_inputs=example, verbose=False)
    paths = {module: path for path, module in traced.named_modules()}
    modules = [traced.get_submodule(name.removesuffix(".weight")) for name in weights]
    layers = [layer for module in modules if (layer := _prunable(graph, module, paths)) is not None]
    return Structure(tuple(layers), _sole_normalisers(graph, paths))


def is_depthwise(module: nn.Module) -> bool:
    """Say whether each output channel of a convolution reads one input channel of its own."""
    return isinstance(module, nn.Conv2d) and 1 < module.groups == module.in_channels == module.out_channels


def _prunable(graph: Any, root: nn.Module, paths: dict[nn.Module, str]) -> PrunableLayer | None:
    if not isinstance(root, nn.Conv2d) or root.groups != 1:
        raise UserError(
            f"'{paths[root]}' is no plain convolution; filters are removed from ungrouped Conv2d layers only"
        )
    filters = range(root.out_channels)
    group = graph.get_pruning_group(root, torch_pruning.prune_conv_out_channels, list(filters))
    slices = []
    for item in group:
        node, module = item.dep.target, item.dep.target.module
        reads = _owns_filters(module) and not graph.is_out_channel_pruning_fn(item.dep.handler)
        summed = _owns_filters(module) and not reads and module is not root
        is_network_output = not node.outputs and not reads
        if summed or is_network_output:
            return None
        if module in paths:
            side = INPUT if reads else OUTPUT
            slices.append(_slice(module, paths[module], side, item.idxs, item.root_idxs, len(filters)))
    return PrunableLayer(paths[root], len(filters), tuple(slices))


def _owns_filters(module: nn.Module) -> bool:
    return isinstance(module, nn.Conv2d | nn.Linear) and not is_depthwise(module)


def _slice(module: nn.Module, path: str, side: str, places: Sequence[int], filters: Sequence[int], count: int) -> Slice:
    grouped = isinstance(module, nn.Conv2d) and module.groups > 1 and not is_depthwise(module)
    if grouped or not isinstance(module, nn.Conv2d | nn.Linear | nn.BatchNorm2d):
        raise UserError(
            f"cannot remove channels of '{path}', a {type(module).__name__}; "
            "accepted: Conv2d (ungrouped or depthwise), BatchNorm2d and Linear"
        )
    positions: list[list[int]] = [[] for _ in range(count)]
    for place, index in zip(places, filters, strict=True):
        positions[index].append(place)
    return Slice(path, side, tuple(map(tuple, positions)))


def _sole_normalisers(graph: Any, paths: dict[nn.Module, str]) -> dict[str, str]:
    found = {}
    for module, node in graph.module2node.items():
        readers = {reader.module for reader in node.outputs}
        if isinstance(module, nn.Conv2d) and len(readers) == 1 and isinstance(norm := readers.pop(), nn.BatchNorm2d):
            found[paths[module]] = paths[norm]
    return found
