"""Carrying out a plan: filters masked with zeros, or physically removed.

Masking sets the filter and scale γ **and** shift β of every BatchNorm on its channel to zero. Then
the channel is zero wherever it is read, and the masked and the smaller network are the same
function. With β left in place they are not: a channel of zeros would still send act(β) onwards.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable

import torch
import torch_pruning
from torch import nn

from .plan import PruningPlan
from .structure import INPUT, OUTPUT, Structure, is_depthwise

Positions = dict[tuple[str, str], list[int]]


def removed_positions(structure: Structure, plan: PruningPlan) -> Positions:
    """Return what the plan takes from each (layer, side), in ascending order."""
    taken: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for layer in structure.layers:
        for part in layer.slices:
            taken[part.path, part.side].update(part.of(plan.removed.get(layer.path, ())))
    return {place: sorted(positions) for place, positions in taken.items() if positions}


@torch.no_grad()
def mask(model: nn.Module, structure: Structure, plan: PruningPlan) -> nn.Module:
    """Return a copy of full size in which the plan's filters and their channels are zero."""
    masked = copy.deepcopy(model)
    for (path, side), positions in removed_positions(structure, plan).items():
        if side == OUTPUT:
            for parameter in masked.get_submodule(path).parameters():
                parameter[positions] = 0
    return masked


def remove(model: nn.Module, structure: Structure, plan: PruningPlan) -> nn.Module:
    """Return a copy from which the plan's filters are physically removed: smaller tensors, same layers."""
    smaller = copy.deepcopy(model)
    for (path, side), positions in removed_positions(structure, plan).items():
        module = smaller.get_submodule(path)
        _cutter(module, side)(module, positions)
    for parameter in smaller.parameters():
        parameter.grad = None
    return smaller


def _cutter(module: nn.Module, side: str) -> Callable[[nn.Module, list[int]], nn.Module]:
    if isinstance(module, nn.BatchNorm2d):
        cut = torch_pruning.prune_batchnorm_out_channels
    elif isinstance(module, nn.Linear):
        cut = torch_pruning.prune_linear_in_channels
    elif is_depthwise(module):
        cut = torch_pruning.prune_depthwise_conv_out_channels
    else:
        cut = {OUTPUT: torch_pruning.prune_conv_out_channels, INPUT: torch_pruning.prune_conv_in_channels}[side]
    chosen: Callable[[nn.Module, list[int]], nn.Module] = cut
    return chosen
