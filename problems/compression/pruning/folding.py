"""Folding the constant activation of removed filters into what reads them.

A filter that has died still sends a constant onwards: BatchNorm maps its mean to β, and the next
layer reads act(β). Removing the filter removes that constant. Folding puts it back: each reader L
gets the shift δ that the constants alone would have caused in its output,

    δ = mean over pixels of  L(constants on the removed channels, zero elsewhere) − L(0).

The shift is exact for Linear layers and for convolutions without zero padding. With zero padding
the true contribution is smaller along the border, which no bias can express; the mean over pixels
is then the constant of least squared error, at the image size of the example. The shift goes into
the running mean of the BatchNorm behind L where that alone reads L, and otherwise into L's bias,
which is created if there is none; such a bias counts as parameters of the smaller network.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from .plan import PruningPlan
from .structure import INPUT, OUTPUT, Structure, is_depthwise
from .surgery import Positions, removed_positions


@torch.no_grad()
def fold_constants(
    smaller: nn.Module, model: nn.Module, structure: Structure, plan: PruningPlan, example: Tensor
) -> nn.Module:
    """Fold the constants of the filters that `plan` removed from `model` into `smaller`, in place.

    `example` is a batch of inputs; only its shape matters, as the removed channels are constants.
    """
    removed = removed_positions(structure, plan)
    for path, shift in _shifts(_constant_channels(model, removed), removed, example).items():
        gone = removed.get((path, OUTPUT), [])
        kept = torch.ones(len(shift), dtype=torch.bool, device=shift.device)
        kept[gone] = False
        _add(smaller, path, structure.normalised_by.get(path), shift[kept])
    return smaller


def _constant_channels(model: nn.Module, removed: Positions) -> nn.Module:
    """Return a copy in evaluation mode whose removed channels do not depend on the input.

    The filters are zero and every BatchNorm's scale γ is zero on their channels; β and biases stay.
    """
    constant = copy.deepcopy(model).eval()
    for (path, side), positions in removed.items():
        module = constant.get_submodule(path)
        if side == OUTPUT and not is_depthwise(module):
            module.get_parameter("weight")[positions] = 0
    return constant


def _shifts(constant: nn.Module, removed: Positions, example: Tensor) -> dict[str, Tensor]:
    shifts: dict[str, Tensor] = {}

    def recorder(path: str, positions: list[int]) -> Callable[[nn.Module, tuple[Any, ...]], None]:
        def record(layer: nn.Module, inputs: tuple[Any, ...]) -> None:
            shifts[path] = _response(layer, inputs[0], positions)

        return record

    for (path, side), positions in removed.items():
        if side == INPUT:
            constant.get_submodule(path).register_forward_pre_hook(recorder(path, positions))
    constant(example)
    return shifts


def _response(layer: nn.Module, inputs: Tensor, positions: list[int]) -> Tensor:
    """Return the layer's mean output, without bias, to the given channels of its input alone."""
    channels, weight = inputs[:, positions], layer.get_parameter("weight")[:, positions]
    if isinstance(layer, nn.Conv2d):
        outputs = nn.functional.conv2d(
            channels, weight, stride=layer.stride, padding=layer.padding, dilation=layer.dilation
        )
        return outputs.mean(dim=(0, 2, 3))
    return nn.functional.linear(channels, weight).mean(dim=0)


def _add(smaller: nn.Module, path: str, norm_path: str | None, shift: Tensor) -> None:
    layer = smaller.get_submodule(path)
    if norm_path is not None:
        smaller.get_submodule(norm_path).get_buffer("running_mean").sub_(shift)
    elif "bias" in dict(layer.named_parameters()):
        layer.get_parameter("bias").add_(shift)
    else:
        layer.register_parameter("bias", nn.Parameter(shift))
