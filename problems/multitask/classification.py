"""Several classifications of one input: cross-entropies to train with, accuracies to report."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from torch import Tensor, nn

from mobench.core.metric import Metric
from mobench.core.problem import Bounds
from mobench.core.streams import Streams

from .task import Data, SharedTrunk

PERCENT = (0.0, 100.0)


def cross_entropies(outputs: list[Tensor], targets: Tensor) -> list[Tensor]:
    """Return the mean cross-entropy of each task."""
    return [nn.functional.cross_entropy(logits, targets[:, task]) for task, logits in enumerate(outputs)]


def accuracies(outputs: list[Tensor], targets: Tensor) -> list[Tensor]:
    """Return the percentage of right answers of each task."""
    right = [logits.argmax(1) == targets[:, task] for task, logits in enumerate(outputs)]
    return [100.0 * hits.double().mean() for hits in right]


def chance_bounds(classes: int, tasks: int) -> Bounds:
    """Return the box from a perfect answer to one by chance, in cross-entropies."""
    return Bounds(ideal=(0.0,) * tasks, reference=(math.log(classes),) * tasks)


def accuracy_metrics(tasks: Sequence[str]) -> tuple[Metric, ...]:
    """Return the accuracies of each task, and their means."""
    return (
        *(
            Metric(f"accuracy/{task}", f"test accuracy, {task}", "%", "max", PERCENT, f"'{task}' right on test data")
            for task in tasks
        ),
        Metric("accuracy", "mean test accuracy", "%", "max", PERCENT, "mean over tasks of right answers on test data"),
        Metric(
            "selection_accuracy", "mean validation accuracy", "%", "max", PERCENT,
            "mean over tasks of right answers on validation data",
        ),
    )  # fmt: skip


class Classification(SharedTrunk):
    """A trunk with classifiers."""

    def __init__(
        self,
        tasks: Sequence[str],
        build: Callable[[], tuple[nn.Module, list[nn.Module]]],
        data: Data,
        batch_size: int,
        streams: Streams,
    ) -> None:
        super().__init__(build, data, cross_entropies, batch_size, streams)
        self.tasks = tasks

    def metrics(self) -> Mapping[str, float]:
        losses, right = (self.mean(self.data.test, measure) for measure in (cross_entropies, accuracies))
        chosen = self.mean(self.data.validation, accuracies)
        return {
            **{f"loss/{task}": loss for task, loss in zip(self.tasks, losses, strict=True)},
            **{f"accuracy/{task}": share for task, share in zip(self.tasks, right, strict=True)},
            "accuracy": sum(right) / len(right),
            "selection_accuracy": sum(chosen) / len(chosen),
        }


def convolutions(channels: int, size: int, kernel: int, widths: tuple[int, int], features: int) -> nn.Module:
    """Return a trunk as LeNet's: two convolutions with average pooling, and a layer of features, all with tanh."""
    pad = kernel // 2
    flat = widths[1] * (size // 4) ** 2
    return nn.Sequential(
        nn.Conv2d(channels, widths[0], kernel, padding=pad), nn.Tanh(), nn.AvgPool2d(2),
        nn.Conv2d(widths[0], widths[1], kernel, padding=pad), nn.Tanh(), nn.AvgPool2d(2),
        nn.Flatten(), nn.Linear(flat, features), nn.Tanh(),
    )  # fmt: skip
