"""Networks in lockstep: B runs of a `TaskProblem` whose steps are computed as one.

A run's numbers do not depend on its neighbours, to the last bit: a run repeated alone is a stack of one and gives the
same record. Rows are padded to whole vector registers, products are taken member by member in float64, and every
gradient is computed whatever the neighbours' methods read. Whether this machine's kernels keep the promise is
checked before a group begins; where they do not, its runs train one by one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mobench.core.method import Matrix, Step, Vector
from mobench.core.problem import Task, TaskProblem
from mobench.core.streams import Streams
from mobench.core.task_stack import StackedParameters, TaskStack
from mobench.gradients.gradient_rows import GradientRows
from mobench.gradients.gram import ROUNDED_ROWS
from mobench.gradients.layout import Layout
from mobench.training.step import Gradients
from mobench.training.workload import Indices, Stack, TaskEnds, Workload, stated_thresholds


class NeighboursMatterError(RuntimeError):
    """Kernels of this machine round a run's numbers differently when others train beside it."""


class StackedWorkload(TaskEnds, Workload):
    """B seeded tasks that a `TaskStack` steps together."""

    fused = True

    def __init__(
        self, problem: TaskProblem, tasks: Sequence[Task], seeds: Sequence[int], parameters: StackedParameters,
        stack: TaskStack,
    ) -> None:  # fmt: skip
        self.tasks = tasks
        self.size = len(tasks)
        self.k = len(problem.objectives())
        self.lower_bounds = np.array([problem.lower_bounds(seed) for seed in seeds])
        self.thresholds = [stated_thresholds(problem, seed) for seed in seeds]
        self.steps_per_epoch = tasks[0].steps_per_epoch
        self._stack = stack
        self.theta = parameters.matrix.requires_grad_()
        self.theta.grad = torch.zeros_like(self.theta)
        self.parameters = [self.theta]
        self.columns = parameters.columns()
        self.layout = Layout(tasks[0].parameters, names=tasks[0].parameter_names)
        self.weights = np.zeros((self.size, self.k))
        """What the members chose in this iteration; zero for those that did not take the step."""
        self.directions: dict[int, Tensor] = {}
        self.narrow_rows = torch.zeros(self.size, self.k, self.theta.shape[1], dtype=self.theta.dtype)
        self._wide = _WideRows(self.k, self.theta.shape[1])
        self._members = self.narrow_rows.unbind()
        self._updates = self.theta.grad.unbind()
        self._computed = False
        self._grams: Stack | None = None
        self._sources = [task.batches() for task in tasks]
        self._batches: list[Any] = []
        self._others: dict[tuple[str, int], GradientRows] = {}
        """The rows of batches beside the step's own, by what they are and by member."""
        self._passes = 0

    def begin(self, iteration: int) -> Matrix:
        self._computed, self._grams = False, None
        self.weights.fill(0.0)
        self.directions.clear()
        self._batches = [next(source) for source in self._sources]
        return self._stack.losses(self._batches)

    def rows(self) -> Tensor:
        """Return the gradients of all members (B × K × n) in the type of the parameters."""
        if not self._computed:
            self._passes += self._stack.gradients(self.narrow_rows)
            self._computed = True
        return self.narrow_rows

    def grams(self) -> Stack:
        if self._grams is None:
            self._grams = np.empty((self.size, self.k, self.k))
            self.rows()
            for gram, rows in zip(self._grams, self._members, strict=True):
                gram[:] = self._wide.gram(rows)
        return self._grams

    def gradients_of(self, member: int) -> Gradients:
        return _Row(self, member)

    def apply_all(self, members: Indices, weights: Matrix) -> None:
        self.weights[members] = weights

    def held_out(self, member: int) -> Step | None:
        return self._beside("held out", member, self.tasks[member].held_out_batch())

    def second_batch(self, member: int) -> Step | None:
        return self._beside("second", member, self.tasks[member].second_batch())

    def _beside(self, kind: str, member: int, batch: Any) -> Step | None:
        return None if batch is None else self._evaluate(kind, member, batch)

    def hessian_product(self, member: int, weights: Vector, vector: Tensor) -> Tensor:
        self.rows()  # at the parameters as they are
        evaluate = partial(self._evaluate, "moved", member, self._batches[member])
        return self.hessian_product_on(member, evaluate, weights, vector)

    def _evaluate(self, kind: str, member: int, batch: Any) -> Step:
        task = self.tasks[member]
        if (kind, member) not in self._others:
            self._others[kind, member] = GradientRows(task.parameters, names=task.parameter_names)
        rows = self._others[kind, member]
        rows.load(task.held_out_losses(batch))
        return Step(rows.values, rows, self.lower_bounds[member])

    @torch.no_grad()
    def end(self) -> None:
        for beside in self._others.values():
            beside.clear()
        self.rows()
        for member, (rows, chosen, update) in enumerate(zip(self._members, self.weights, self._updates, strict=True)):
            if member in self.directions:
                update[self.columns] = self.directions[member].to(update.dtype)
            elif chosen.any():
                update.copy_(self._wide.weighted_sum(rows, chosen.tolist()))
            else:  # a member that has failed may hold what is not finite
                update.zero_()
        self._wide.forget()

    def losses_after(self, members: Sequence[int]) -> Matrix:
        found = np.full((self.size, self.k), np.nan)
        for member in members:
            found[member] = self.tasks[member].losses_after(self._batches[member])
        return found

    def after_update(self, lr: float, proximal: Sequence[float | None]) -> None:
        weights = [task.proximal_weight if own is None else own for task, own in zip(self.tasks, proximal, strict=True)]
        self._stack.after_update(lr, weights)

    def stationarity(self, member: int) -> dict[str, float]:
        return self.stationarity_on(member, self._sources[member])

    def backward_passes(self, member: int) -> int:
        beside = (rows.backward_passes for (_, owner), rows in self._others.items() if owner == member)
        return self._passes + sum(beside)


class _WideRows:
    """One member's gradients in float64: short enough to stay in the cache, and never allocated anew."""

    def __init__(self, k: int, n: int) -> None:
        self._matrix = torch.empty(k, n, dtype=torch.float64)
        self._transposed = self._matrix.T
        self._rows = self._matrix.unbind()
        self._held: Tensor | None = None

    def _hold(self, rows: Tensor) -> None:
        if self._held is not rows:
            self._matrix.copy_(rows)
            self._held = rows

    def gram(self, rows: Tensor) -> Matrix:
        """Return the inner products of a member's rows."""
        self._hold(rows)
        found: Matrix = (self._matrix @ self._transposed).numpy()
        return found

    def weighted_sum(self, rows: Tensor, weights: Sequence[float]) -> Tensor:
        """Return the sum of a member's rows with these weights, in memory that the next call overwrites."""
        self._hold(rows)
        self._held = None
        total, *others = self._rows
        total.mul_(weights[0])
        for row, weight in zip(others, weights[1:], strict=True):
            total.add_(row.mul_(weight))
        return total

    def forget(self) -> None:
        """Take what is held for outdated: the rows are about to change."""
        self._held = None


class _Row:
    """The gradients of one member; its update is written with those of all others."""

    resolution = ROUNDED_ROWS

    def __init__(self, workload: StackedWorkload, member: int) -> None:
        self._workload = workload
        self._member = member
        self.n = len(workload.columns)

    def gram(self) -> Matrix:
        gram: Matrix = self._workload.grams()[self._member]
        return gram

    def gradients(self) -> Tensor:
        self._workload.rows()
        return self._workload.narrow_rows[self._member][:, self._workload.columns]

    def layers(self) -> dict[str, slice]:
        return self._workload.layout.slices

    def layer_grams(self) -> dict[str, Matrix]:
        rows = self.gradients().double()
        return {name: (rows[:, part] @ rows[:, part].T).numpy() for name, part in self.layers().items()}

    def apply(self, weights: Vector) -> None:
        self._workload.weights[self._member] = weights

    def apply_direction(self, direction: Tensor) -> None:
        self._workload.directions[self._member] = direction


def stacked(problem: TaskProblem, streams: Sequence[Streams]) -> StackedWorkload | None:
    """Return the workload that trains one run for each of the streams, None where the problem has no stack here."""
    found = stacked_tasks(problem, [problem.start(each) for each in streams], [each.seed for each in streams])
    if found is not None and found.size > 1:
        check_independence(problem, streams)
    return found


def stacked_tasks(problem: TaskProblem, tasks: Sequence[Task], seeds: Sequence[int]) -> StackedWorkload | None:
    """Return the workload that trains runs which have been started, None where the problem has no stack here."""
    parameters = StackedParameters(tasks)
    stack = problem.stack(tasks, parameters)
    return None if stack is None else StackedWorkload(problem, tasks, seeds, parameters, stack)


_independent: set[Hashable] = set()
"""Problems, with the numbers of runs, for which `check_independence` has found no fault in this process."""


def check_independence(problem: TaskProblem, streams: Sequence[Streams]) -> None:
    """Compare the last run's first step in company with the same step alone, in every bit."""
    key = (problem.batch_key(), len(streams))
    if key in _independent:
        return
    together = first_step(problem, [Streams(each.seed) for each in streams])
    alone = first_step(problem, [Streams(streams[-1].seed)])
    if not all(torch.equal(one[-1:], other) for one, other in zip(together, alone, strict=True)):
        raise NeighboursMatterError(
            f"{problem.id}: this machine rounds a network's numbers differently when others train beside it"
        )
    _independent.add(key)


def first_step(problem: TaskProblem, streams: Sequence[Streams]) -> tuple[Tensor, Tensor]:
    """Return losses and gradients of the first step of fresh runs."""
    tasks = [problem.start(each) for each in streams]
    parameters = StackedParameters(tasks)
    stack = problem.stack(tasks, parameters)
    assert stack is not None
    losses = stack.losses([next(task.batches()) for task in tasks])
    rows = torch.zeros(*losses.shape, parameters.matrix.shape[1], dtype=parameters.matrix.dtype)
    stack.gradients(rows)
    return torch.from_numpy(losses), rows
