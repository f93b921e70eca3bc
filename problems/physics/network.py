"""A fully connected tanh network with exact derivatives by its inputs, carried forward layer by layer.

For a = tanh(z) and z = W a' + b, the chain rule gives, along each input x_i,

    ∂_i z = W ∂_i a',      ∂_i a = (1 − a²) ∂_i z,
    ∂_ii z = W ∂_ii a',    ∂_ii a = (1 − a²) (∂_ii z − 2 a (∂_i z)²).

Value and derivatives of all points pass through a layer as one matrix product, and one backward pass of the result
gives the gradient by the weights. Nested calls of autograd would cost several times as much.

Networks of several runs step as one: weights then have the runs as a first dimension, and so have points and outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


@dataclass(frozen=True)
class Jet:
    """Outputs at N points (… × N × outputs), and their derivatives along the first and the second input."""

    value: Tensor
    first: tuple[Tensor, ...]
    """By input."""
    second: tuple[Tensor, ...]
    """By input, twice along the same; empty where it was not asked for."""


class TanhNetwork:
    """A network from the plane to some numbers; the domain is scaled to [−1, 1]² first."""

    def __init__(
        self, low: Sequence[float], high: Sequence[float], weights: Sequence[Tensor], biases: Sequence[Tensor]
    ) -> None:
        """Take every layer's weights (… × outputs × inputs) and biases (… × outputs), to differentiate by."""
        self.low, self.high = (torch.tensor(side, dtype=weights[0].dtype) for side in (low, high))
        self.weights, self.biases = weights, biases
        self._scale = 2.0 / (self.high - self.low)

    @classmethod
    def drawn(
        cls,
        low: Sequence[float],
        high: Sequence[float],
        outputs: int,
        width: int,
        depth: int,
        generator: torch.Generator,
        dtype: torch.dtype = torch.float32,
    ) -> TanhNetwork:
        """Draw weights as Glorot and Bengio do: normal with variance 2 / (inputs + outputs), and zero biases."""
        sizes = [2, *[width] * depth, outputs]
        weights, biases = [], []
        for inputs, count in pairwise(sizes):
            drawn = torch.randn(count, inputs, generator=generator, dtype=torch.float64)
            weights.append((drawn * (2.0 / (inputs + count)) ** 0.5).to(dtype).requires_grad_())
            biases.append(torch.zeros(count, dtype=dtype).requires_grad_())
        return cls(low, high, weights, biases)

    @property
    def parameters(self) -> list[Tensor]:
        """Weights and biases, layer by layer."""
        return [tensor for pair in zip(self.weights, self.biases, strict=True) for tensor in pair]

    @property
    def names(self) -> list[str]:
        """What the parameters are called."""
        return [f"layer-{layer}.{kind}" for layer in range(len(self.weights)) for kind in ("weight", "bias")]

    def __call__(self, points: Tensor) -> Tensor:
        """Return the outputs at the points (… × N × 2)."""
        a = self._scaled(points)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            a = torch.tanh(_affine(a, weight, bias))
        return _product(a, self.weights[-1]) + self.biases[-1].unsqueeze(-2)

    def jet(self, points: Tensor, second: bool = True) -> Jet:
        """Return outputs and derivatives at the points (… × N × 2)."""
        *members, count, _ = points.shape
        streams = points.new_zeros(*members, 5 if second else 3, count, 2)
        streams[..., 0, :, :] = self._scaled(points)
        for axis in (0, 1):
            streams[..., 1 + axis, :, axis] = self._scale[axis]
        a = streams.flatten(-3, -2)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            z = torch.unflatten(a @ weight.mT, -2, (-1, count))
            a = _Tanh.apply(z, bias).flatten(-3, -2)
        parts = torch.unflatten(_product(a, self.weights[-1]), -2, (-1, count)).unbind(-3)
        return Jet(parts[0] + self.biases[-1].unsqueeze(-2), tuple(parts[1:3]), tuple(parts[3:]))

    def _scaled(self, points: Tensor) -> Tensor:
        return (points - self.low) * self._scale - 1.0


def _affine(a: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return a Wᵀ + b in one call, also with the runs as a first dimension."""
    if weight.ndim == 2:
        return torch.addmm(bias, a, weight.mT)
    return torch.baddbmm(bias.unsqueeze(-2), a, weight.mT)


def _product(a: Tensor, weight: Tensor) -> Tensor:
    """Return a Wᵀ. A product with one column is rounded differently beside others, so that it is taken with two."""
    if weight.shape[-2] > 1:
        return a @ weight.mT
    return (a @ torch.nn.functional.pad(weight, (0, 0, 0, 1)).mT)[..., :1]


class _Tanh(torch.autograd.Function):
    """tanh of the values z₀ + b, and the chain rule for the derivatives in the other streams of z."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, bias: Tensor) -> Tensor:
        """Take z (… × streams × points × units) and b (… × units)."""
        a = torch.empty_like(z)
        values = a.select(-3, 0)
        torch.add(z.select(-3, 0), bias.unsqueeze(-2), out=values)
        values.tanh_()
        _loops().forward(_streams(z), _streams(a), _one(z))
        ctx.save_for_backward(z, a)
        return a

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, given: Tensor) -> tuple[Tensor, Tensor]:
        z, a = ctx.saved_tensors
        out = torch.empty_like(z)
        _loops().backward(_streams(z), _streams(a), _streams(given), _streams(out), _one(z))
        return out, out.select(-3, 0).sum(-2)


@cache
def _loops() -> ModuleType:
    """Import the compiled loops when a network is first trained: numba takes most of a second."""
    from . import tanh_loops

    return tanh_loops


def _streams(tensor: Tensor) -> npt.NDArray[Any]:
    """Return the numbers as members × streams × (points and units)."""
    streams, points, units = tensor.shape[-3:]
    found: npt.NDArray[Any] = tensor.detach().contiguous().view(-1, streams, points * units).numpy()
    return found


def _one(tensor: Tensor) -> np.floating[Any]:
    return np.float32(1.0) if tensor.dtype == torch.float32 else np.float64(1.0)
