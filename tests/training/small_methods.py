"""Methods and penalties small enough that every expected number can be written down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mobench.core.method import Method, Step
from mobench.core.objective import KnownGradient
from mobench.core.settings import reals


class FixedWeights(Method):
    """Reads nothing."""

    values: Sequence[float] | float = reals(1.0, meaning="the weights")

    def weights(self, step: Step):
        return np.broadcast_to(self.values, step.k)


class UnitGradients(Method):
    """Reads the Gram matrix: w_i = 1/‖g_i‖."""

    def weights(self, step: Step):
        step.note(read="gram")
        return 1.0 / np.sqrt(step.gram.diagonal())


class InverseLosses(Method):
    """Reads the losses: w_i = 1/ℓ_i."""

    def weights(self, step: Step):
        return 1.0 / step.losses


class SignOfSum(Method):
    """Reads the gradients, and is no linear combination of them."""

    def direction(self, step: Step) -> Tensor:
        return step.gradients.sum(dim=0).sign()


class Remembering(Method):
    """Counts its calls before it reads the Gram matrix, and sees the losses after the step."""

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self.calls = 0
        self.observed: list[list[float]] = []

    def weights(self, step: Step):
        self.calls += 1
        noise = self.rng.random(step.k)
        return (1.0 + noise) / np.sqrt(step.gram.diagonal())

    def observe(self, losses_after) -> None:
        self.observed.append(losses_after.tolist())


class CountingLosses(Remembering):
    """The same, from losses alone."""

    def weights(self, step: Step):
        self.calls += 1
        return 1.0 / step.losses


class HalfSquare(KnownGradient):
    """½‖θ‖² over the given positions; the gradient is θ."""

    def __init__(self, parameters: Sequence[Tensor], positions: Sequence[int] | None = None) -> None:
        self.parameters = parameters
        self.positions = range(len(parameters)) if positions is None else positions
        self.value = sum(0.5 * float(parameters[i].detach().double().square().sum()) for i in self.positions)
        self.asked = 0

    def gradient(self, index: int) -> Tensor | None:
        self.asked += 1
        return self.parameters[index].detach() if index in self.positions else None


class Lasso(KnownGradient):
    """‖θ‖₁, written into the memory it is given."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self.parameters = parameters
        self.value = sum(float(parameter.detach().abs().sum()) for parameter in parameters)

    def gradient(self, index: int) -> Tensor | None:
        return self.gradient_into(index, torch.empty_like(self.parameters[index]))

    def gradient_into(self, index: int, out: Tensor) -> Tensor | None:
        return torch.sign(self.parameters[index].detach(), out=out)


def small_network(dtype: torch.dtype = torch.float64, seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 2)).to(dtype)


def two_losses(network: nn.Module, inputs: Tensor) -> list[Tensor]:
    """Two means over the batch that share the network's body."""
    outputs = network(inputs)
    return [(outputs[:, 0] - inputs[:, 0]).square().mean(), (outputs[:, 1] + 3.0).square().mean()]


def batch(dtype: torch.dtype = torch.float64, size: int = 12, seed: int = 1) -> Tensor:
    return torch.randn(size, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def jacobian(losses: Sequence[Tensor], parameters: Sequence[Tensor]) -> Tensor:
    """The K×n gradients, by plain autograd."""
    rows = [torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True) for loss in losses]
    return torch.stack([_joined(row, parameters) for row in rows])


def pieces(inputs: Tensor, sizes: int | Sequence[int]) -> Sequence[Tensor]:
    """Cut a batch into micro-batches."""
    return torch.split(inputs, sizes if isinstance(sizes, int) else list(sizes))


def grad(parameter: Tensor) -> Any:
    """What `.grad` holds, as a list."""
    return None if parameter.grad is None else parameter.grad.tolist()


def flat_grad(parameters: Sequence[Tensor]) -> Tensor:
    """What the parameters' `.grad` hold, as one vector."""
    return _joined([parameter.grad for parameter in parameters], parameters)


def _joined(blocks: Sequence[Tensor | None], parameters: Sequence[Tensor]) -> Tensor:
    pairs = zip(blocks, parameters, strict=True)
    return torch.cat([(torch.zeros_like(p) if block is None else block).reshape(-1) for block, p in pairs]).detach()
