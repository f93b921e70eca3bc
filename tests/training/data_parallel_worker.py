"""The second of two processes that train on their shares of each batch: STORE RESULT."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from mobench.training.multi_objective import MultiObjective

METHODS = ("pcd", "famo", "pcgrad")
WRAPPED = (False, True)
"""Whether the network is wrapped in `DistributedDataParallel`."""
STEPS = 4
SAMPLES = 8


def train(method: str, rank: int, world: int, wrapped: bool = False) -> list[Tensor]:
    """Train a network on this process's share of the samples, and return its parameters."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 2)).double()
    parallel = DistributedDataParallel(network) if wrapped else None
    parameters = list(network.parameters())
    objective = MultiObjective(method, parameters)
    for step in range(STEPS):
        inputs = torch.randn(SAMPLES, 5, generator=torch.Generator().manual_seed(step), dtype=torch.float64)
        with parallel.no_sync() if parallel else nullcontext():
            outputs = (parallel or network)(inputs[rank::world])
        losses = [(outputs[:, 0] - 1.0).square().mean(), (outputs[:, 1] + outputs[:, 0]).abs().mean()]
        if world == 1:
            objective.backward(losses)
        else:
            rows, values = objective.gradients(losses), torch.stack(losses).detach()
            for shared in (rows, values):
                dist.all_reduce(shared)
                shared /= world
            objective.backward(values, gradients=rows)
        with torch.no_grad():
            for parameter in parameters:
                assert parameter.grad is not None
                parameter.sub_(parameter.grad, alpha=0.1)
    return [parameter.detach() for parameter in parameters]


def all_trained(rank: int) -> dict[str, list[Tensor]]:
    """Return the parameters by method and by whether the network was wrapped."""
    return {f"{method} {wrapped}": train(method, rank, 2, wrapped) for method in METHODS for wrapped in WRAPPED}


@contextmanager
def joined(store: Path, rank: int) -> Iterator[None]:
    """Be one of two processes that know each other through a file."""
    dist.init_process_group("gloo", init_method=store.as_uri(), rank=rank, world_size=2, timeout=timedelta(seconds=60))
    try:
        yield
    finally:
        dist.destroy_process_group()


def main(store: str, result: str) -> None:
    torch.set_num_threads(1)
    with joined(Path(store), rank=1):
        torch.save(all_trained(rank=1), result)


if __name__ == "__main__":
    main(*sys.argv[1:])
