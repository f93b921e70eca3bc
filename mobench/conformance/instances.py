"""Seeded instances of a problem as plain functions of θ ∈ Rⁿ, whatever kind of problem it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mobench.conformance.in_double import InDouble, widen
from mobench.core.method import Matrix, Vector
from mobench.core.objective import KnownGradient
from mobench.core.problem import Constants, Problem, TaskProblem, VectorProblem
from mobench.core.streams import Streams
from mobench.gradients.gradient_rows import GradientRows

BLOCKS = 6
"""At most so many parameter tensors are varied one at a time."""

PRECISION = 1e-5
STEP_SIZES = (1e-5, 1e-6, 1e-7, 1e-4, 1e-3)
"""Of difference quotients in double precision."""


class Instance(ABC):
    """Values and gradients of one seed's instance at any point."""

    start: Vector
    """The initial point."""
    precision: float = PRECISION
    """Relative error up to which a difference quotient can be expected to meet the gradient."""
    step_sizes: tuple[float, ...] = STEP_SIZES
    """Lengths of difference quotients relative to ‖θ‖, the most promising first; the best is judged."""

    @abstractmethod
    def values(self, theta: Vector, iteration: int = 0) -> Vector:
        """Return the K objective values."""

    @abstractmethod
    def gradients(self, theta: Vector, iteration: int = 0) -> Matrix:
        """Return the K×n gradients."""

    @abstractmethod
    def points(self, rng: np.random.Generator) -> list[Vector]:
        """Return points to test at, the first near the start."""

    @abstractmethod
    def directions(self, theta: Vector, gradients: Matrix, rng: np.random.Generator) -> list[Vector]:
        """Return unit vectors along which derivatives are tested."""


class VectorInstance(Instance):
    """An instance of a `VectorProblem`, alone in its batch."""

    def __init__(self, problem: VectorProblem, seed: int) -> None:
        self.problem = problem
        self.own: Constants = problem.constants(Streams(seed))
        self.constants = {name: value[None] for name, value in self.own.items()}
        self.start = problem.initial(self.own, Streams(seed)).numpy().astype(np.float64)

    def values(self, theta: Vector, iteration: int = 0) -> Vector:
        return self.problem.values(torch.from_numpy(theta[None]), self.constants, iteration)[0].numpy()

    def gradients(self, theta: Vector, iteration: int = 0) -> Matrix:
        return self.problem.gradients(torch.from_numpy(theta[None]), self.constants, iteration)[0].numpy()

    def points(self, rng: np.random.Generator) -> list[Vector]:
        size = 0.1 + float(np.sqrt(np.mean(self.start**2)))
        return [self.start + spread * size * rng.normal(size=self.start.shape) for spread in (0.1, 1.0, 1.0, 10.0)]

    def directions(self, theta: Vector, gradients: Matrix, rng: np.random.Generator) -> list[Vector]:
        normal = rng.normal(size=(4, len(theta)))
        return [*(normal / np.linalg.norm(normal, axis=1, keepdims=True))]


class TaskInstance(Instance):
    """An instance of a `TaskProblem` on its first batches, in double precision."""

    def __init__(self, problem: TaskProblem, seed: int) -> None:
        self.task = problem.start(Streams(seed))
        batches = self.task.batches()
        self.batches = [next(batches) for _ in range(3)]
        widen(self.task)
        self.start = self._vector()

    def losses(self, batch: Any) -> Sequence[Tensor | KnownGradient]:
        """Return the losses that are trained on."""
        with InDouble():
            return self.task.losses(batch)

    def losses_after(self, batch: Any) -> list[float]:
        """Return the losses as they are looked at after an update."""
        with InDouble():
            return list(self.task.losses_after(batch))

    def _vector(self) -> Vector:
        flat = [parameter.detach().double().flatten() for parameter in self.task.parameters]
        return torch.cat(flat).numpy()

    @torch.no_grad()
    def _move(self, theta: Vector) -> None:
        for parameter, (first, last) in zip(self.task.parameters, self._extents(), strict=True):
            parameter.copy_(torch.from_numpy(theta[first:last]).view_as(parameter))

    def _extents(self) -> list[tuple[int, int]]:
        ends = np.cumsum([parameter.numel() for parameter in self.task.parameters]).tolist()
        return list(zip([0, *ends[:-1]], ends, strict=True))

    def values(self, theta: Vector, iteration: int = 0) -> Vector:
        self._move(theta)
        return np.array(self.losses_after(self.batches[iteration]), dtype=np.float64)

    def gradients(self, theta: Vector, iteration: int = 0) -> Matrix:
        self._move(theta)
        rows = GradientRows(self.task.parameters)
        rows.load(self.losses(self.batches[iteration]))
        return rows.gradients().double().numpy()

    def points(self, rng: np.random.Generator) -> list[Vector]:
        return [self.start * (1.0 + 0.1 * rng.normal(size=self.start.shape)) for _ in range(2)]

    def directions(self, theta: Vector, gradients: Matrix, rng: np.random.Generator) -> list[Vector]:
        """Return each gradient's direction, and θ's own in single parameter tensors.

        A random direction among many parameters sees little of any of them. These see most, and a penalty that forgets
        a tensor shows along that tensor.
        """
        chosen = [*gradients, theta]
        extents = self._extents()
        for index in np.unique(np.linspace(0, len(extents) - 1, BLOCKS).round().astype(int)):
            block = np.zeros_like(theta)
            block[slice(*extents[index])] = theta[slice(*extents[index])]
            chosen.append(block)
        return [vector / length for vector in chosen if (length := np.linalg.norm(vector)) > 0.0]


def instance(problem: Problem, seed: int) -> Instance:
    """Return the instance of `problem` at `seed`."""
    if isinstance(problem, VectorProblem):
        return VectorInstance(problem, seed)
    assert isinstance(problem, TaskProblem), f"{problem.id} is neither a VectorProblem nor a TaskProblem"
    return TaskInstance(problem, seed)
