"""Compression runs of one network in lockstep: one pass for all of them, and their penalties in closed form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from mobench.core.method import Matrix
from mobench.core.stacked_network import StackedNetwork
from mobench.core.task_stack import StackedParameters, TaskStack

from .data.images import Batch
from .stacked_penalties import (
    StackedGroupLasso,
    StackedL1,
    StackedNuclear,
    StackedPenalty,
    StackedQuantisation,
    Weights,
)
from .task import CompressionTask

KINDS: dict[str, Callable[[Tensor, Weights, float], StackedPenalty]] = {
    "group-lasso": StackedGroupLasso,
    "l1": StackedL1,
    "nuclear": StackedNuclear,
}


class CompressionStack(TaskStack):
    """The training steps of several `CompressionTask`s."""

    def __init__(self, tasks: Sequence[CompressionTask], parameters: StackedParameters) -> None:
        super().__init__(tasks, parameters)
        first = tasks[0]
        self.problem = first.problem
        layers = parameters.layers_of(parameters.matrix.detach())
        names = [name for name, _ in first.model.named_parameters()]
        self.network = StackedNetwork([task.model for task in tasks], dict(zip(names, layers, strict=True)))
        positions = {id(parameter): index for index, parameter in enumerate(first.parameters)}
        weights = {positions[id(weight)]: weight.detach() for weight in first.penalised}
        kinds = KINDS | {"quantisation": partial(StackedQuantisation, bits=self.problem.bits)}
        self.penalties = [
            kinds[name](parameters.matrix, weights, self.problem.scale) for name in self.problem.objectives()[1:]
        ]
        self._loss: Tensor | None = None
        self._targets: tuple[Tensor, list[Tensor]] | None = None

    def losses(self, batches: Sequence[Batch]) -> Matrix:
        each = [images for images, _ in batches]
        images = (torch.cat(each, dim=1) if len(each) > 1 else each[0]).contiguous(memory_format=torch.channels_last)
        labels = torch.stack([labels for _, labels in batches])
        self.network.read()
        logits = self.network(images)
        lost = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
        self._loss = lost.view_as(labels).mean(1)
        with torch.no_grad():
            values = [self._loss.detach().double(), *(penalty.read() for penalty in self.penalties)]
        found: Matrix = torch.stack(values, dim=1).numpy()
        return found

    def gradients(self, out: Tensor) -> int:
        assert self._loss is not None
        leaves = self.network.leaves()
        found = torch.autograd.grad(self._loss, leaves, torch.ones_like(self._loss))
        self._loss = None
        if self._targets is None or self._targets[0] is not out:
            self._targets = out, self.parameters.layers_of(out[:, 0])
            self._rows = list(out.unbind(1))
        with torch.no_grad():
            self.network.write(found, self._targets[1])
            for penalty, row in zip(self.penalties, self._rows[1:], strict=True):
                penalty.write(row)
        return 1

    @torch.no_grad()
    def after_update(self, lr: float, weights: Sequence[float]) -> None:
        if not any(weights):
            return
        dtype = self.parameters.matrix.dtype
        thresholds = torch.tensor([weight * lr * self.problem.scale for weight in weights], dtype=dtype)
        for penalty in self.penalties:
            penalty.shrink(thresholds)
