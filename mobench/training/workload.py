"""What the trainer trains: B vectors in lockstep, or one network; `stacked_workload` has networks in lockstep.

A workload evaluates losses, computes gradients when they are read, and turns weights into `.grad`.
The trainer's loop is the same for both kinds.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from mobench.core.columns import AT_THE_END
from mobench.core.method import Matrix, Step, Vector
from mobench.core.problem import Constants, Problem, Task, TaskProblem, VectorProblem
from mobench.core.streams import Streams
from mobench.gradients.blocks import split
from mobench.gradients.buckets import longest_bucket
from mobench.gradients.gradient_rows import GradientRows
from mobench.gradients.joint_parameters import join
from mobench.gradients.layout import Layout
from mobench.solvers.stationarity import pareto_residual
from mobench.training.step import Gradients

Stack = npt.NDArray[np.float64]
"""Arrays with a leading dimension over the B members."""

Indices = npt.NDArray[np.intp]

LANES = 8
"""Rows are padded to a multiple of this, see `VectorWorkload`."""


class Workload(ABC):
    """B runs that take their steps together; most workloads have B = 1."""

    size: int
    k: int
    lower_bounds: Matrix
    """The B×K lower bounds of the objectives."""
    thresholds: Sequence[Vector | None]
    """What each member's problem states as the losses to get below."""
    parameters: Sequence[torch.Tensor]
    """What the optimizer updates."""
    steps_per_epoch: int = 1
    fused: bool = False
    """Whether a fused optimizer may take the steps; in lockstep its rounding could depend on the neighbours."""

    @abstractmethod
    def begin(self, iteration: int) -> Matrix:
        """Start an iteration (draw its batch) and return the B×K losses."""

    @abstractmethod
    def gradients_of(self, member: int) -> Gradients:
        """Return where the gradients of a member come from and its update goes."""

    def apply_all(self, members: Indices, weights: Matrix) -> None:
        """Write the updates `Σ_i w_i g_i` of several members."""
        for member, own in zip(members.tolist(), weights, strict=True):
            self.gradients_of(member).apply(own)

    @abstractmethod
    def grams(self) -> Stack | None:
        """Return the B×K×K Gram matrices of this iteration if they have been computed."""

    def held_out(self, member: int) -> Step | None:
        """Evaluate a held-out batch of a member; None if its problem has none."""
        return None

    def second_batch(self, member: int) -> Step | None:
        """Evaluate a second batch of a member's training data; None if its problem has none."""
        return None

    @abstractmethod
    def hessian_product(self, member: int, weights: Vector, vector: torch.Tensor) -> torch.Tensor:
        """Return `Σ_i w_i H_i v` of a member on this iteration's batch, as `Step.hessian_product` does."""

    def end(self) -> None:
        """Write all members' updates into the parameters' `.grad`."""

    @abstractmethod
    def losses_after(self, members: Sequence[int]) -> Matrix:
        """Return the B×K losses at the current parameters on this iteration's batch, at least those of `members`."""

    @abstractmethod
    def metrics(self, member: int) -> dict[str, float]:
        """Return the problem's own metrics of a member at the current parameters."""

    @abstractmethod
    def stationarity(self, member: int) -> dict[str, float]:
        """Return `AT_THE_END` of a finished member: what its gradients at the current parameters say."""

    def final_sample(self, member: int) -> dict[str, Any]:
        """Return what the curves keep of a finished member's end."""
        return {}

    def timings(self, member: int) -> dict[str, float]:
        """Return what was timed of a finished member."""
        return {}

    def artifact(self, member: int) -> dict[str, torch.Tensor]:
        """Return the tensors worth keeping of a finished member."""
        return {}

    def fallbacks(self, member: int) -> dict[str, int]:
        """Return how often the device could not do something and the CPU did."""
        return {}

    def after_update(self, lr: float, proximal: Sequence[float | None]) -> None:
        """Do what the problem does after each optimizer step; `proximal` is every member's `Method.proximal_weight`."""

    def epoch_metrics(self, member: int) -> dict[str, Any]:
        """Return what the curves keep of a member at the end of an epoch."""
        return {}

    def backward_passes(self, member: int) -> int:
        """Return how many times autograd traversed a graph of a member so far."""
        return 0

    def point(self, member: int) -> list[float] | None:
        """Return the parameters where they are few enough to draw (at most three)."""
        return None

    def network(self) -> Sequence[torch.Tensor] | None:
        """Return the parameters of the one network that is trained; None where it is not one."""
        return None

    def state_dict(self) -> dict[str, Any]:
        """Return what, besides the parameters, a checkpoint must hold."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""


class VectorWorkload(Workload):
    """B runs of a `VectorProblem` as one B×n tensor.

    A run's numbers must not depend on its neighbours, to the last bit, so that a run repeated alone
    gives the same record. Two things ensure it: products over n are taken row by row, and the number
    of rows is padded to a multiple of the vector registers' lanes, so that no element is ever computed
    by the scalar remainder loop of a vectorised kernel, whose rounding may differ.
    """

    def __init__(self, kind: type[VectorProblem], members: Sequence[tuple[Problem, Streams]]) -> None:
        self.kind = kind
        self.size = len(members)
        self.problems = [problem for problem, _ in members if isinstance(problem, VectorProblem)]
        each = [problem.constants(streams) for problem, (_, streams) in zip(self.problems, members, strict=True)]
        starts = [
            problem.initial(constants, streams)
            for problem, constants, (_, streams) in zip(self.problems, each, members, strict=True)
        ]
        self.k = len(self.problems[0].objectives())
        self.lower_bounds = np.array([problem.lower_bounds(streams.seed) for problem, streams in members])
        self.thresholds = [stated_thresholds(problem, streams.seed) for problem, streams in members]
        padded = list(range(self.size)) + [0] * (-self.size % LANES)
        self.constants: Constants = {name: torch.stack([each[i][name] for i in padded]) for name in each[0]}
        self.theta = torch.stack([starts[i] for i in padded]).requires_grad_()
        self.theta.grad = torch.zeros_like(self.theta)
        self._update = self.theta.grad.numpy()
        self._drawn = self.theta.shape[1] <= 3
        self.parameters = [self.theta]
        self.weights = np.zeros((len(padded), self.k))
        """What the members chose in this iteration; zero for those that did not take the step."""
        self.directions: dict[int, torch.Tensor] = {}
        """The members' own directions in this iteration."""
        self._iteration = 0
        self._gradients: Stack | None = None
        self._grams: Stack | None = None
        self._final: Matrix | None = None

    def begin(self, iteration: int) -> Matrix:
        self._iteration = iteration
        self._grams = self._final = None
        self.weights.fill(0.0)
        self.directions.clear()
        with torch.no_grad():
            values, gradients = self.kind.values_and_gradients(self.theta, self.constants, iteration)
        self._gradients = np.ascontiguousarray(gradients.numpy())
        return values.numpy()[: self.size]

    def losses_after(self, members: Sequence[int]) -> Matrix:
        with torch.no_grad():
            values = self.kind.values(self.theta, self.constants, self._iteration)
        return values.numpy()[: self.size]

    def rows(self) -> Stack:
        """Return the gradients of all members (padded B × K × n)."""
        assert self._gradients is not None, "an iteration has begun"
        return self._gradients

    def grams(self) -> Stack:
        if self._grams is None:
            rows = self.rows().astype(np.float64, copy=False)
            with np.errstate(over="ignore", invalid="ignore"):  # a run that diverges fails by itself
                self._grams = rows @ rows.transpose(0, 2, 1)
        return self._grams

    def gradients_of(self, member: int) -> Gradients:
        return _Row(self, member)

    @torch.no_grad()
    def hessian_product(self, member: int, weights: Vector, vector: torch.Tensor) -> torch.Tensor:
        theta = self.theta.detach()

        def gradients_at(displacement: torch.Tensor) -> torch.Tensor:
            moved = theta.clone()
            moved[member] += displacement
            return self.kind.gradients(moved, self.constants, self._iteration)[member]

        return _difference_of_gradients(gradients_at, [theta[member]], weights, vector)

    def apply_all(self, members: Indices, weights: Matrix) -> None:
        self.weights[members] = weights

    def end(self) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            np.matmul(self.weights[:, None, :], self.rows(), out=self._update[:, None, :])
        for member, direction in self.directions.items():
            self._update[member] = direction.numpy()

    def after_update(self, lr: float, proximal: Sequence[float | None]) -> None:
        with torch.no_grad():
            allowed = self.kind.project(self.theta, self.constants)
            if allowed is not None:
                self.theta.copy_(allowed)

    def metrics(self, member: int) -> dict[str, float]:
        problem = self.problems[member]
        losses = self._losses_at_the_end()[member].tolist()
        constants = {name: value[member] for name, value in self.constants.items()}
        return {
            **{f"loss/{name}": loss for name, loss in zip(problem.objectives(), losses, strict=True)},
            **problem.measure(self.theta.detach()[member], constants),
        }

    def stationarity(self, member: int) -> dict[str, float]:
        self._losses_at_the_end()
        return _stationarity(self.grams()[member], self.rows()[member])

    def _losses_at_the_end(self) -> Matrix:
        """Return the losses at the current parameters; gradients that are read from then on are theirs."""
        if self._final is None:
            self._final = self.begin(self._iteration)
        return self._final

    def point(self, member: int) -> list[float] | None:
        return self.theta[member].tolist() if self._drawn else None


class _Row:
    """The gradients of one member of a `VectorWorkload`; its update is written with those of all others."""

    def __init__(self, workload: VectorWorkload, member: int) -> None:
        self._workload = workload
        self._member = member
        self.n = workload.theta.shape[1]

    def gram(self) -> Matrix:
        gram: Matrix = self._workload.grams()[self._member]
        return gram

    def gradients(self) -> torch.Tensor:
        return torch.from_numpy(self._workload.rows()[self._member].copy())  # the benchmark reads the original

    def apply(self, weights: Vector) -> None:
        self._workload.weights[self._member] = weights

    def apply_direction(self, direction: torch.Tensor) -> None:
        self._workload.directions[self._member] = direction


class TaskEnds:
    """What is asked of each task by itself, in company or not."""

    tasks: Sequence[Task]

    def hessian_product_on(
        self, member: int, evaluate: Callable[[], Step], weights: Vector, vector: torch.Tensor
    ) -> torch.Tensor:
        """Move the task's parameters to where `evaluate` is asked for gradients, and back; the step's own are computed.

        The last evaluation is at the parameters themselves: losses that keep what they found out there, such as
        penalties, then know of no other point.
        """
        task = self.tasks[member]
        shared = [task.parameters[index] for index in Layout(task.parameters, task.shared_parameters).shared]
        start = [parameter.detach().clone() for parameter in shared]

        def put(pieces: Iterable[torch.Tensor]) -> Step:
            with torch.no_grad():
                for parameter, piece in zip(shared, pieces, strict=True):
                    parameter.copy_(piece)
            return evaluate()

        def gradients_at(displacement: torch.Tensor) -> torch.Tensor:
            pieces = zip(start, split(displacement, shared), strict=True)
            return put(before + piece for before, piece in pieces).gradients

        try:
            return _difference_of_gradients(gradients_at, start, weights, vector)
        finally:
            put(start)

    def metrics(self, member: int) -> dict[str, float]:
        """Return the task's metrics."""
        return dict(self.tasks[member].metrics())

    def stationarity_on(self, member: int, batches: Iterator[Any]) -> dict[str, float]:
        """Take it on one more batch, which is not trained on; it counts for no cost of the run."""
        task = self.tasks[member]
        batch = task.held_out_batch()
        rows = GradientRows(task.parameters, shared=task.shared_parameters, names=task.parameter_names)
        rows.load(task.held_out_losses(next(batches) if batch is None else batch))
        return _stationarity(rows.gram())

    def final_sample(self, member: int) -> dict[str, Any]:
        """Return what the curves keep of the task's end."""
        return dict(self.tasks[member].final_sample())

    def timings(self, member: int) -> dict[str, float]:
        """Return what the task timed."""
        return dict(self.tasks[member].timings())

    def fallbacks(self, member: int) -> dict[str, int]:
        """Return what the task counted."""
        return dict(self.tasks[member].fallbacks())

    def artifact(self, member: int) -> dict[str, torch.Tensor]:
        """Return the task's tensors."""
        return dict(self.tasks[member].artifact())

    def epoch_metrics(self, member: int) -> dict[str, Any]:
        """Return the task's metrics at the end of an epoch."""
        return dict(self.tasks[member].epoch_metrics())

    def network(self) -> Sequence[torch.Tensor] | None:
        """Return the parameters of the one network that is trained; None where there are several."""
        return self.tasks[0].parameters if len(self.tasks) == 1 else None

    def state_dict(self) -> dict[str, Any]:
        """Return what, besides the parameters, a checkpoint must hold: the same in company or not."""
        return {"tasks": [task.state_dict() for task in self.tasks]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        for task, stored in zip(self.tasks, state["tasks"], strict=True):
            task.load_state_dict(stored)


class TaskWorkload(TaskEnds, Workload):
    """One run of a `TaskProblem`: autograd and closed forms through `GradientRows`."""

    size = 1
    fused = True

    def __init__(self, problem: TaskProblem, task: Task, seed: int, *, as_vector: bool = True) -> None:
        """Take a seeded task; `as_vector` says that the optimizer does not look at shapes."""
        self.task, self.tasks = task, [task]
        self.k = len(problem.objectives())
        self.lower_bounds = np.array([problem.lower_bounds(seed)])
        self.thresholds = [stated_thresholds(problem, seed)]
        self.steps_per_epoch = task.steps_per_epoch
        self._batches = task.batches()
        self._batch: Any = None
        self._rows = self._joined_rows(as_vector)
        self._others: dict[str, GradientRows] = {}
        """The rows of batches beside the step's own, by what they are."""

    def _joined_rows(self, as_vector: bool) -> GradientRows:
        """Move the parameters side by side, and let the optimizer take one vector if it is short enough.

        In that vector a parameter that no loss depends on has a gradient of zeros instead of none.
        """
        task = self.task
        self.parameters = task.parameters
        vector = join(task.parameters) if len(task.parameters) > 1 else None
        trained = (
            vector is not None
            and as_vector
            and vector.numel() <= longest_bucket(vector.device)
            and task.shared_parameters is None
            and all(parameter.requires_grad for parameter in task.parameters)
        )
        if vector is not None and trained:
            self.parameters = [vector.requires_grad_()]
        return GradientRows(
            task.parameters,
            shared=task.shared_parameters,
            names=task.parameter_names,
            joint=vector if trained else None,
        )

    def begin(self, iteration: int) -> Matrix:
        for parameter in self.task.parameters:
            parameter.grad = None  # the last update, whose memory the forward pass can have
        self._batch = next(self._batches)
        self._rows.load(self.task.losses(self._batch))
        return self._rows.values[None, :]

    def gradients_of(self, member: int) -> Gradients:
        return self._rows

    def held_out(self, member: int) -> Step | None:
        return self._beside("held out", self.task.held_out_batch())

    def second_batch(self, member: int) -> Step | None:
        return self._beside("second", self.task.second_batch())

    def hessian_product(self, member: int, weights: Vector, vector: torch.Tensor) -> torch.Tensor:
        self._rows.gram()  # the graph of the step's own losses is of no use once parameters have moved
        evaluate = partial(self._evaluate, "moved", self._batch)
        return self.hessian_product_on(member, evaluate, weights, vector)

    def _beside(self, kind: str, batch: Any) -> Step | None:
        return None if batch is None else self._evaluate(kind, batch)

    def _evaluate(self, kind: str, batch: Any) -> Step:
        rows = self._others.get(kind) or self._others.setdefault(kind, self._rows.twin())
        rows.load(self.task.held_out_losses(batch))
        return Step(rows.values, rows, self.lower_bounds[0])

    def end(self) -> None:
        for rows in self._others.values():
            rows.clear()

    def grams(self) -> Stack | None:
        gram = self._rows.gram_if_read
        return None if gram is None else gram[None]

    def losses_after(self, members: Sequence[int]) -> Matrix:
        return np.array([self.task.losses_after(self._batch)], dtype=np.float64)

    def stationarity(self, member: int) -> dict[str, float]:
        return self.stationarity_on(member, self._batches)

    def after_update(self, lr: float, proximal: Sequence[float | None]) -> None:
        (own,) = proximal
        weight = self.task.proximal_weight if own is None else own
        if weight:
            self.task.proximal_step(weight * lr)
        self.task.after_update(lr)

    def backward_passes(self, member: int) -> int:
        return self._rows.backward_passes + sum(rows.backward_passes for rows in self._others.values())


def _difference_of_gradients(
    gradients_at: Callable[[torch.Tensor], torch.Tensor],
    parameters: Sequence[torch.Tensor],
    weights: Vector,
    vector: torch.Tensor,
) -> torch.Tensor:
    """Return `Σ_i w_i H_i v` by a central difference over a small part of the parameters' length."""
    length = float(torch.linalg.vector_norm(vector))
    if not length > 0.0:
        return torch.zeros_like(vector)
    size = 1.0 + math.hypot(*(float(torch.linalg.vector_norm(parameter)) for parameter in parameters))
    factor = size * torch.finfo(parameters[0].dtype).eps ** (1.0 / 3.0) / length
    difference = gradients_at(factor * vector) - gradients_at(-factor * vector)
    product: torch.Tensor = torch.from_numpy(weights).to(difference) @ difference / (2.0 * factor)
    return product


def _stationarity(gram: Matrix, gradients: Matrix | None = None) -> dict[str, float]:
    """Return `AT_THE_END` of a Gram matrix, nothing if it is not finite."""
    if not np.isfinite(gram).all():
        return {}
    norms = np.sqrt(np.diagonal(gram)).tolist()
    names = (metric.name for metric in AT_THE_END)
    return dict(zip(names, (norms[0], max(norms), pareto_residual(gram, gradients)), strict=True))


def stated_thresholds(problem: Problem, seed: int) -> Vector | None:
    """Return what a problem states as the losses to get below."""
    stated = problem.thresholds(seed)
    return None if stated is None else np.array(stated, dtype=np.float64)
