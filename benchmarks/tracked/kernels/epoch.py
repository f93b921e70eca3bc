"""An epoch of a network on random images of CIFAR's shape, and the evaluation at the end of a run."""

from __future__ import annotations

import torch

from mobench.core.method import Step
from mobench.core.registry import find_method
from mobench.core.streams import Streams
from mobench.problems.compression import Compression
from mobench.problems.compression.data.images import Images, Splits
from mobench.problems.compression.networks import input_shape
from mobench.problems.compression.task import CompressionTask
from mobench.training.optimizer import Training
from mobench.training.step import take_step

from . import Kernel, built_once

PARTS = (45, 5, 10)
"""How CIFAR-10's thousands of images are divided into training, validation and test images."""


def random_images(shape: tuple[int, int, int], count: int, seed: int) -> Images:
    """Return noise in ten classes."""
    generator = torch.Generator().manual_seed(seed)
    pixels = torch.randint(256, (count, *shape), dtype=torch.uint8, generator=generator)
    labels = torch.randint(10, (count,), generator=generator)
    return Images(pixels, labels, (127.5,) * shape[0], (74.0,) * shape[0])


def _task(network: str, batch: int, steps: int) -> tuple[Compression, CompressionTask]:
    count = batch * steps
    images = [random_images(input_shape(network), count * part // PARTS[0], part) for part in PARTS]
    problem = Compression(dataset="cifar-10", network=network, penalty="group-lasso", batch_size=batch)
    return problem, CompressionTask(problem, Streams(0), Splits(*images, classes=10, augment=True))


@built_once
def plain_epoch(network: str, batch: int, steps: int) -> Kernel:
    """Take so many Adam steps on the cross-entropy alone."""
    _, task = _task(network, batch, steps)
    optimizer = Training(optimizer="adam", lr=1e-3).build(list(task.parameters), fused=True)

    def run() -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            task.model.train()
            task.task_loss(task.stream.next_batch()).backward()
            optimizer.step()

    return run


@built_once
def pcd_epoch(network: str, batch: int, steps: int) -> Kernel:
    """Take so many PCD steps with group lasso as `mobench run` does, and measure what is kept of an epoch."""
    from mobench.training.make_workload import workload_of  # an older revision lacks it, and can do the rest

    problem, task = _task(network, batch, steps)
    workload = workload_of(problem, task, 0)
    gradients, method = workload.gradients_of(0), find_method("pcd")(tau=0.1)
    method.reset(workload.k, Streams(0).numpy("method"))
    optimizer = Training(optimizer="adam", lr=1e-3).build(workload.parameters, fused=workload.fused)

    def run() -> None:
        for number in range(steps):
            losses = workload.begin(number)
            take_step(method, Step(losses[0], gradients, workload.lower_bounds[0]), gradients)
            workload.end()
            optimizer.step()
        workload.epoch_metrics(0)

    return run


@built_once
def evaluation(network: str, batch: int, steps: int) -> Kernel:
    """Measure what a finished run is worth, pruned to every target."""
    _, task = _task(network, batch, steps)
    return lambda: task.metrics()
