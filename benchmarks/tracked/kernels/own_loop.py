"""A step of anybody's own training loop, by the public interface alone, so that old revisions can be measured too."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

import mobench

from . import Kernel, built_once

WIDTH, DEPTH, BATCH = 128, 6, 64


@built_once
def plain_step() -> Kernel:
    """Train a small network on its task alone."""
    _, optimizer, task = _network()

    def run() -> None:
        optimizer.zero_grad()
        task().backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return run


@built_once
def front_end_step(method: str) -> Kernel:
    """Train it on its task and a penalty, two losses with graphs of their own."""
    model, optimizer, task = _network()
    multi = mobench.MultiObjective(method, optimizer)
    weights = [parameter for parameter in model.parameters() if parameter.ndim > 1]

    def run() -> None:
        penalty = torch.stack([weight.square().sum() for weight in weights]).sum()
        multi.backward([task(), penalty])
        optimizer.step()

    return run


def _network() -> tuple[nn.Module, torch.optim.Optimizer, Callable[[], Tensor]]:
    torch.manual_seed(0)
    layers = [layer for _ in range(DEPTH) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(WIDTH, 1))
    inputs, targets = torch.randn(BATCH, WIDTH), torch.randn(BATCH, 1)

    def task() -> Tensor:
        loss: Tensor = nn.functional.mse_loss(model(inputs), targets)
        return loss

    return model, torch.optim.Adam(model.parameters(), lr=1e-4), task
