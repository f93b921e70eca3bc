"""A fully connected tanh network with exact derivatives by its inputs, carried forward layer by layer.

For a = tanh(z) and z = W a' + b, the chain rule gives, along each input x_i,

    ∂_i z = W ∂_i a',      ∂_i a = (1 − a²) ∂_i z,
    ∂_ii z = W ∂_ii a',    ∂_ii a = (1 − a²) (∂_ii z − 2 a (∂_i z)²).

Value and derivatives of all points pass through a layer as one matrix product, and one backward pass of the result
gives the gradient by the weights. Nested calls of autograd would cost several times as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor


@dataclass(frozen=True)
class Jet:
    """Outputs at N points (N×outputs), and their derivatives along the first and the second input."""

    value: Tensor
    first: tuple[Tensor, ...]
    """By input."""
    second: tuple[Tensor, ...]
    """By input, twice along the same; empty where it was not asked for."""


class TanhNetwork:
    """A network from the plane to `outputs` numbers; the domain is scaled to [−1, 1]² first."""

    def __init__(
        self,
        low: Sequence[float],
        high: Sequence[float],
        outputs: int,
        width: int,
        depth: int,
        generator: torch.Generator,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        """Draw weights as Glorot and Bengio do: normal with variance 2 / (inputs + outputs), and zero biases."""
        self.low, self.high = (torch.tensor(side, dtype=dtype) for side in (low, high))
        sizes = [2, *[width] * depth, outputs]
        self.weights, self.biases = [], []
        for inputs, count in pairwise(sizes):
            drawn = torch.randn(count, inputs, generator=generator, dtype=torch.float64)
            self.weights.append((drawn * (2.0 / (inputs + count)) ** 0.5).to(dtype).requires_grad_())
            self.biases.append(torch.zeros(count, dtype=dtype).requires_grad_())

    @property
    def parameters(self) -> list[Tensor]:
        """Weights and biases, layer by layer."""
        return [tensor for pair in zip(self.weights, self.biases, strict=True) for tensor in pair]

    @property
    def names(self) -> list[str]:
        """What the parameters are called."""
        return [f"layer-{layer}.{kind}" for layer in range(len(self.weights)) for kind in ("weight", "bias")]

    def __call__(self, points: Tensor) -> Tensor:
        """Return the outputs at the points (N×2)."""
        a = 2.0 * (points - self.low) / (self.high - self.low) - 1.0
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            a = torch.tanh(torch.addmm(bias, a, weight.T))
        return torch.addmm(self.biases[-1], a, self.weights[-1].T)

    def jet(self, points: Tensor, second: bool = True) -> Jet:
        """Return outputs and derivatives at the points (N×2)."""
        scale = 2.0 / (self.high - self.low)
        count = len(points)
        streams = [(points - self.low) * scale - 1.0]
        streams += [scale * torch.eye(2, dtype=points.dtype)[i].expand(count, 2) for i in (0, 1)]
        streams += [torch.zeros_like(points)] * (2 if second else 0)
        a = torch.cat(streams)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            a = _through_tanh(a @ weight.T, bias, count)
        parts = torch.split(a @ self.weights[-1].T, count)
        return Jet(parts[0] + self.biases[-1], tuple(parts[1:3]), tuple(parts[3:]))


def _through_tanh(z: Tensor, bias: Tensor, count: int) -> Tensor:
    """Apply tanh to the values z + b, and the chain rule to the derivatives below them."""
    parts = torch.split(z, count)
    value = torch.tanh(parts[0] + bias)
    slope = 1.0 - value * value
    first = [slope * part for part in parts[1:3]]
    second = [
        slope * part - 2.0 * value * along * by for part, along, by in zip(parts[3:], first, parts[1:3], strict=False)
    ]
    return torch.cat([value, *first, *second])
