"""Compression runs of one network in lockstep: passes without autograd, and penalties of all in closed form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, fx

from mobench.core.direct_layers import Array
from mobench.core.direct_network import DirectNetwork
from mobench.core.method import Matrix
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
        self._names = [name for name, _ in first.model.named_parameters()]
        graph, scratch = fx.symbolic_trace(first.model).graph, dict[object, Array]()
        views = self._by_member(parameters.matrix.detach())
        self.networks = [DirectNetwork(task.model, own, graph, scratch) for task, own in zip(tasks, views, strict=True)]
        positions = {id(parameter): index for index, parameter in enumerate(first.parameters)}
        weights = {positions[id(weight)]: weight.detach() for weight in first.penalised}
        kinds = KINDS | {"quantisation": partial(StackedQuantisation, bits=self.problem.bits)}
        self.penalties = [
            kinds[name](parameters.matrix, weights, self.problem.scale) for name in self.problem.objectives()[1:]
        ]
        self._answers: tuple[Tensor, Tensor] | None = None
        """The logarithms of the classes' probabilities (B × N × F), and the labels (B × N × 1)."""
        self._rows: list[Tensor] = []
        self._out: Tensor | None = None

    def _by_member(self, matrix: Tensor) -> list[dict[str, Tensor]]:
        """Return each member's parameters by name as views of a B×n matrix with the columns of the parameters'."""
        layers = self.parameters.layers_of(matrix)
        return [dict(zip(self._names, own, strict=True)) for own in zip(*layers, strict=True)]

    @torch.no_grad()
    def losses(self, batches: Sequence[Batch]) -> Matrix:
        labels = torch.stack([labels for _, labels in batches]).unsqueeze(-1)
        outputs = [network(images) for network, (images, _) in zip(self.networks, batches, strict=True)]
        logs = torch.log_softmax(torch.stack(outputs), dim=-1)
        self._answers = logs, labels
        cross_entropy = logs.gather(-1, labels).mean((1, 2), dtype=torch.float64).neg_()
        values = [cross_entropy, *(penalty.read() for penalty in self.penalties)]
        found: Matrix = torch.stack(values, dim=1).numpy()
        return found

    @torch.no_grad()
    def gradients(self, out: Tensor) -> int:
        if self._out is not out:
            self._out, (first, *self._rows) = out, out.unbind(1)
            for network, own in zip(self.networks, self._by_member(first), strict=True):
                network.write_to(own)
        assert self._answers is not None
        logs, labels = self._answers
        self._answers = None
        by_logits = logs.exp_().scatter_add_(-1, labels, torch.full_like(labels, -1, dtype=logs.dtype))
        by_logits /= labels.shape[1]
        for network, by_own in zip(self.networks, by_logits.unbind(), strict=True):
            network.backward(by_own)
        for penalty, row in zip(self.penalties, self._rows, strict=True):
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
