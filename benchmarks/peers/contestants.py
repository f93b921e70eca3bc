"""One training step of a network with penalties, in each way that is compared.

All contestants train the same kind of network with the same fused Adam on the same random images of CIFAR's
size, and all follow PCD, whose update is the same in every one of them:

    plain              cross-entropy alone, `backward` and Adam: what everything is compared with
    mobench            as `mobench run` does: penalties in closed form, small networks as one vector
    separate passes    one autograd pass for each loss, gradients flattened into a K×n matrix
    torchjd            TorchJD as its documentation says: `backward`, then `jac_to_grad`
    torchjd, frugal    the same with its two options that save memory
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torchjd.aggregation
import torchjd.autojac
from torch import Tensor

from mobench.core.method import Method, Step, Vector
from mobench.core.registry import find_method
from mobench.core.streams import Streams
from mobench.problems.compression import Compression
from mobench.problems.compression.data.images import random_splits
from mobench.problems.compression.networks import input_shape
from mobench.problems.compression.task import CompressionTask
from mobench.training.make_workload import workload_of
from mobench.training.optimizer import Training, bare_step
from mobench.training.step import take_step

PENALTIES = {2: "group-lasso", 3: "l1-nuclear"}
"""The problem's secondary objectives for each K."""
TAU = 0.1
ADAM = Training(optimizer="adam", lr=1e-3)

TakeStep = Callable[[], None]


class Subject:
    """A network, its random images and its Adam, as a compression run with K objectives has them."""

    def __init__(self, network: str, batch: int, k: int) -> None:
        problem = Compression(dataset="cifar-10", network=network, penalty=PENALTIES[k], batch_size=batch)
        self.problem = problem
        self.task = CompressionTask(problem, Streams(0), random_splits(input_shape(network), 4 * batch, 10))
        self.parameters: list[Tensor] = list(self.task.parameters)
        self.optimizer = ADAM.build(self.parameters, fused=True)

    @property
    def size(self) -> int:
        """The number of parameters."""
        return sum(parameter.numel() for parameter in self.parameters)

    def task_loss(self) -> Tensor:
        """Return the cross-entropy of the next batch."""
        self.task.model.train()
        loss: Tensor = self.task.task_loss(self.task.stream.next_batch())
        return loss

    def all_losses(self, k: int) -> list[Tensor]:
        """Return K losses that all have a graph, as one writes them without closed forms."""
        weights = [weight.flatten(1) for weight in self.task.penalised]
        if k == 2:
            return [self.task_loss(), torch.stack([weight.norm(dim=1).sum() for weight in weights]).sum()]
        absolute = torch.stack([weight.abs().sum() for weight in weights]).sum()
        nuclear = torch.stack([torch.linalg.matrix_norm(weight, "nuc") for weight in weights]).sum()
        return [self.task_loss(), absolute, nuclear]


def plain(subject: Subject, k: int) -> TakeStep:
    """Train on the cross-entropy alone."""

    def take() -> None:
        subject.optimizer.zero_grad()
        subject.task_loss().backward()  # type: ignore[no-untyped-call]
        subject.optimizer.step()

    return take


def mobench(subject: Subject, k: int) -> TakeStep:
    """Train as `mobench run` does; the subject's own penalties must be K − 1."""
    workload = workload_of(subject.problem, subject.task, 0)
    gradients = workload.gradients_of(0)
    method = _pcd(k)
    update = bare_step(ADAM.build(workload.parameters, fused=workload.fused))
    assert workload.k == k

    def take() -> None:
        losses = workload.begin(0)
        take_step(method, Step(losses[0], gradients, workload.lower_bounds[0]), gradients)
        workload.end()
        update()

    return take


def separate_passes(subject: Subject, k: int) -> TakeStep:
    """Train with K autograd passes, a K×n matrix and PCD's weights on its Gram matrix."""
    method = _pcd(k)

    def take() -> None:
        losses = subject.all_losses(k)
        rows = [
            torch.cat(
                [block.flatten() for block in torch.autograd.grad(loss, subject.parameters, materialize_grads=True)]
            )
            for loss in losses
        ]
        gradients = _Rows(torch.stack(rows), subject.parameters)
        del rows
        take_step(method, Step(np.array([loss.item() for loss in losses]), gradients), gradients)
        subject.optimizer.step()

    return take


def torchjd_documented(subject: Subject, k: int) -> TakeStep:
    """Train with TorchJD's defaults."""
    aggregator = torchjd.aggregation.PCD(tau=TAU)

    def take() -> None:
        torchjd.autojac.backward(subject.all_losses(k))
        torchjd.autojac.jac_to_grad(subject.parameters, aggregator)
        subject.optimizer.step()
        subject.optimizer.zero_grad()

    return take


def torchjd_frugal(subject: Subject, k: int) -> TakeStep:
    """Train with TorchJD, one row of the Jacobian at a time and without joining its parts."""
    aggregator = torchjd.aggregation.PCD(tau=TAU)

    def take() -> None:
        torchjd.autojac.backward(subject.all_losses(k), parallel_chunk_size=1)
        torchjd.autojac.jac_to_grad(subject.parameters, aggregator, optimize_gramian_computation=True)
        subject.optimizer.step()
        subject.optimizer.zero_grad()

    return take


CONTESTANTS: dict[str, Callable[[Subject, int], TakeStep]] = {
    "mobench": mobench,
    "separate passes": separate_passes,
    "torchjd": torchjd_documented,
    "torchjd, frugal": torchjd_frugal,
}
"""Everything that is compared with `plain`."""


@dataclass(frozen=True)
class _Rows:
    """The gradients of a step as the rows of a matrix."""

    matrix: Tensor
    parameters: Sequence[Tensor]

    @property
    def n(self) -> int:
        return self.matrix.shape[1]

    def gram(self) -> np.ndarray:
        return (self.matrix @ self.matrix.T).double().numpy()

    def gradients(self) -> Tensor:
        return self.matrix

    def apply(self, weights: Vector) -> None:
        self.apply_direction(torch.from_numpy(weights).float() @ self.matrix)

    def apply_direction(self, direction: Tensor) -> None:
        pieces = torch.split(direction, [parameter.numel() for parameter in self.parameters])
        for parameter, piece in zip(self.parameters, pieces, strict=True):
            parameter.grad = piece.view_as(parameter)


def _pcd(k: int) -> Method:
    method = find_method("pcd")(tau=TAU)
    method.reset(k, np.random.default_rng(0))
    return method
