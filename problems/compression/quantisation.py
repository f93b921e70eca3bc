"""Weights near a grid of few bits: the relative quantisation error with its exact gradient, and what rounding costs."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn

from .data.images import Images
from .evaluation import accuracy
from .filters import Joined, vectors
from .metrics import BITS, Form, bit_mark
from .penalties import Penalty

FULL = 32
"""Bits of a weight that is not rounded."""


class Quantisation(Penalty):
    """s·Σ_ℓ ‖W_ℓ − Q(W_ℓ)‖² / ‖W_ℓ‖², Q rounding to the 2^b − 1 multiples of a step Δ_ℓ = max|W_ℓ| / (2^(b−1) − 1).

    The error is relative, because a network with normalisation does the same with all its weights halved: an absolute
    error would be made small by shrinking them, which brings no weight nearer to its grid.

    With r = W − Δ k, k the integers that W/Δ is rounded to, e = ‖r‖² and n = ‖W‖², the gradient of a layer is
    2 (h − (e/n) W) / n. There h = r, except at the weight of largest magnitude, on which the step depends: the weight
    itself is on the grid, and h = −sign(w) Σ r_i k_i / (2^(b−1) − 1) there. The function is smooth but where a weight
    lies halfway between two points of the grid, or two weights are largest. A layer of zeros has error and gradient 0.
    It is not convex, and has no proximal map here.
    """

    def __init__(
        self, parameters: Sequence[Tensor], penalised: Iterable[int], scale: float = 1.0, *, bits: int = 4
    ) -> None:
        super().__init__(parameters, penalised, scale)
        self.levels = 2 ** (bits - 1) - 1

    def rearrange(self, weights: Mapping[int, Tensor]) -> None:
        pass

    def _read(self, weights: Mapping[int, Tensor]) -> Tensor:
        return self.scale * torch.stack([_relative_error(weight, self.levels) for weight in weights.values()]).sum()

    def evaluate(self) -> float:
        return float(self._read(self.weights))

    def gradient(self, index: int) -> Tensor | None:
        weight = self.weight(index)
        return None if weight is None else self.gradient_into(index, torch.empty_like(weight))

    def gradient_into(self, index: int, out: Tensor) -> Tensor | None:
        weight = self.weight(index)
        return None if weight is None else out.copy_(self.scale * _slope(weight, self.levels))

    def plan(self, weights: Mapping[int, Tensor], targets: Mapping[int, Tensor]) -> list[Joined]:
        return [group for index in targets for group in vectors([index], weights, targets)]

    def write(self, group: Joined) -> None:
        weight, target = group.tensors
        target.copy_(self.scale * _slope(weight, self.levels))

    def shrink(self, threshold: float) -> None:
        raise NotImplementedError("the quantisation error has no proximal map")


def _on_grid(weight: Tensor, levels: int) -> tuple[Tensor, Tensor]:
    """Return the step of the grid, and the integers that the weights are rounded to."""
    step = weight.abs().max() / levels
    return step, torch.where(step > 0, weight / step, torch.zeros_like(weight)).round()


def _relative_error(weight: Tensor, levels: int) -> Tensor:
    """Return ‖W − Q(W)‖² / ‖W‖² in float64, 0 for a layer of zeros."""
    step, places = _on_grid(weight, levels)
    size = weight.double().square().sum()
    error = (weight - step * places).double().square().sum()
    return torch.where(size > 0, error / size, torch.zeros_like(size))


def _slope(weight: Tensor, levels: int) -> Tensor:
    """Return the gradient of the relative error."""
    step, places = _on_grid(weight, levels)
    off = weight - step * places
    size, error = weight.square().sum(), off.square().sum()
    largest = weight.abs().argmax()
    flat, through_step = off.flatten(), -(off * places).sum() / levels
    flat[largest] = weight.flatten()[largest].sign() * through_step
    slope: Tensor = 2.0 * (flat.view_as(weight) - error / size * weight) / size
    return torch.where(size > 0, slope, torch.zeros_like(slope))


@torch.no_grad()
def quantise(weights: Iterable[Tensor], bits: int) -> None:
    """Round every weight in place to the nearest point of its layer's grid."""
    for weight in weights:
        step, places = _on_grid(weight, 2 ** (bits - 1) - 1)
        weight.copy_(step * places)


def quantised_forms(model: nn.Module, weights: Sequence[str], selection: Images, test: Images) -> dict[str, Form]:
    """Return the network with the named weights rounded, at each number of bits.

    The other parameters, and the step of each layer, keep 32 bits.
    """
    forms = {}
    total = sum(parameter.numel() for parameter in model.parameters())
    for bits in BITS:
        smaller = copy.deepcopy(model)
        named = dict(smaller.named_parameters())
        rounded = [named[name] for name in weights]
        quantise(rounded, bits)
        count = sum(weight.numel() for weight in rounded)
        size = bits * count + FULL * (total - count + len(rounded))
        kept = {"bits_kept": size / (FULL * total)}
        forms[bit_mark(bits)] = Form(accuracy(smaller, test), accuracy(smaller, selection), kept)
    return forms
