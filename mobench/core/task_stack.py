"""Tasks of one architecture that step as one: their parameters as the rows of a matrix.

A small network on a CPU is bound by calls and not by arithmetic. `TaskStack` takes the training step of B networks
in the calls of one. Everything else (evaluation, pruning, held-out losses) is still asked of each task, whose tensors
are parts of its row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from mobench.core.flat import FlatBlocks, dense_strides, memory_order

if TYPE_CHECKING:
    from mobench.core.method import Matrix
    from mobench.core.problem import Task

LANES = 16
"""Rows are padded to a multiple of this, so that no number is left to the scalar end of a vectorised loop."""


class StackedParameters:
    """The parameters of B tasks as a B×n matrix, each row in the order of `memory_order` and padded with zeros."""

    @torch.no_grad()
    def __init__(self, tasks: Sequence[Task]) -> None:
        """Move the tasks' parameters into the rows; the tensors stay the same objects with the same values."""
        self.first = list(tasks[0].parameters)
        self.order = memory_order(self.first, range(len(self.first)))
        self.used = sum(parameter.numel() for parameter in self.first)
        """How many numbers of a row are parameters."""
        self.matrix = torch.zeros(len(tasks), self.used + -self.used % LANES, dtype=self.first[0].dtype)
        for row, task in zip(self.matrix, tasks, strict=True):
            blocks = FlatBlocks.of(row, self.order, self.first)
            for index, view in zip(self.order, blocks.views, strict=True):
                view = row.as_strided(view.shape, view.stride(), view.storage_offset() + row.storage_offset())
                view.copy_(task.parameters[index])
                task.parameters[index].data = view

    def layers_of(self, matrix: Tensor) -> list[Tensor]:
        """Cut a B×n matrix with the columns of this one into a view for each parameter, with B in front."""
        layers: dict[int, Tensor] = {}
        start = matrix.storage_offset()
        for index in self.order:
            parameter = self.first[index]
            shape = (len(matrix), *parameter.shape)
            layers[index] = matrix.as_strided(shape, (matrix.stride(0), *dense_strides(parameter)), start)
            start += parameter.numel()
        return [layers[index] for index in range(len(self.first))]

    def columns(self) -> Tensor:
        """Return for each entry of an n-vector, as methods see it, its column in a row."""
        numbered = torch.arange(self.matrix.shape[1])[None]
        return torch.cat([layer.reshape(-1) for layer in self.layers_of(numbered)])


class TaskStack(ABC):
    """The training steps of B tasks, computed together.

    A row's numbers must depend on that row alone, to the last bit: a run repeated alone, as a stack of one, has to
    give the same record. Every group is checked for it before it begins.
    """

    def __init__(self, tasks: Sequence[Task], parameters: StackedParameters) -> None:
        self.tasks = tasks
        self.parameters = parameters

    @abstractmethod
    def losses(self, batches: Sequence[Any]) -> Matrix:
        """Return the B×K losses (float64) at the current parameters, each task's on its own batch.

        What is not finite stays in its row.
        """

    @abstractmethod
    def gradients(self, out: Tensor) -> int:
        """Write the gradients of these losses into a B×K×n tensor, and return how many backward passes it took.

        Columns are those of `parameters.matrix`. `out` was zero when it was given for the first time and is nobody
        else's.
        """

    def after_update(self, lr: float, weights: Sequence[float]) -> None:
        """Do what the tasks do after an optimizer step; `weights` has λ of each one's proximal step, 0 for none."""
        for task, weight in zip(self.tasks, weights, strict=True):
            if weight:
                task.proximal_step(weight * lr)
            task.after_update(lr)
