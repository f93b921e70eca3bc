"""What is as large as the parameters: the Gram matrix, the combination, and a whole training step."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import torch
from torch import Tensor

import mobench
from mobench.core.method import Step
from mobench.core.problem import TaskProblem
from mobench.core.registry import find_method, find_problem
from mobench.core.streams import Streams
from mobench.gradients.gradient_rows import GradientRows
from mobench.problems.compression import Compression
from mobench.problems.compression.task import CompressionTask
from mobench.training.optimizer import Training
from mobench.training.step import take_step

from . import Kernel, built_once

if TYPE_CHECKING:
    from mobench.training.workload import Workload

SIZES = (10_000, 1_000_000)
OBJECTIVES = (2, 3, 8)
PENALTIES = {2: "group-lasso", 3: "l1-nuclear"}
"""The secondary objectives of a digits network for each K."""
BATCH = 64
EQUATIONS = ("burgers", "kovasznay")
"""Physics-informed networks with three and with two objectives."""


@cache
def gradients(k: int, n: int) -> Tensor:
    """Return K random gradients of n entries."""
    return torch.randn(k, n, generator=torch.Generator().manual_seed(k))


@built_once
def combine(method: str, k: int, n: int) -> Kernel:
    """Go from K gradients to the update with `mobench.combine`."""
    rows = gradients(k, n)
    return lambda: mobench.combine(method, rows)


@built_once
def apply_rows(k: int, n: int) -> Kernel:
    """Load K gradients of a network of twenty tensors, take the Gram matrix, write the update to `.grad`."""
    parameters = [torch.zeros(n // 20, requires_grad=True) for _ in range(20)]
    rows, given = GradientRows(parameters), gradients(k, n)
    weights = [1.0 / k] * k

    def run() -> None:
        rows.load_gradients(given)
        rows.gram()
        rows.apply(weights)

    return run


@built_once
def plain_step(k: int) -> Kernel:
    """Train the digits network on its cross-entropy alone: what a step costs without mobench."""
    task, optimizer = _digits(k)

    def run() -> None:
        optimizer.zero_grad()
        task.model.train()
        task.task_loss(task.stream.next_batch()).backward()
        optimizer.step()

    return run


@built_once
def pcd_step(k: int, runs: int = 1) -> Kernel:
    """Train so many digits networks on their cross-entropy and K − 1 penalties, as `mobench run` does."""
    return _steps(_problem(k), runs)


@built_once
def physics_step(equation: str, runs: int = 1) -> Kernel:
    """Train so many networks to solve a differential equation, as `mobench run` does."""
    problem = find_problem(equation)()
    assert isinstance(problem, TaskProblem)
    return _steps(problem, runs)


def _steps(problem: TaskProblem, runs: int) -> Kernel:
    k = len(problem.objectives())
    workload, optimizer = _workload(problem, runs)
    methods = [find_method("pcd")(tau=0.1) for _ in range(runs)]
    for seed, method in enumerate(methods):
        method.reset(k, Streams(seed).numpy("method"))
    members = [workload.gradients_of(member) for member in range(runs)]

    def run() -> None:
        losses = workload.begin(0)
        for method, seen, bounds, gradients in zip(methods, losses, workload.lower_bounds, members, strict=True):
            take_step(method, Step(seen, gradients, bounds), gradients)
        workload.end()
        optimizer.step()

    return run


def backward_passes(k: int) -> int:
    """Return how often autograd traverses a graph in one PCD step on K objectives."""
    workload, _ = _workload(_problem(k))
    workload.begin(0)
    workload.gradients_of(0).gram()
    return workload.backward_passes(0)


def _digits(k: int) -> tuple[CompressionTask, torch.optim.Optimizer]:
    task = CompressionTask(_problem(k), Streams(0))
    return task, Training(optimizer="adam", lr=1e-3).build(list(task.parameters))


def _workload(problem: TaskProblem, runs: int = 1) -> tuple[Workload, torch.optim.Optimizer]:
    from mobench.training.make_workload import make_workload  # an older revision lacks it, and can do the rest

    workload = make_workload([(problem, Streams(seed)) for seed in range(runs)])
    return workload, Training(optimizer="adam", lr=1e-3).build(workload.parameters, fused=workload.fused)


def _problem(k: int) -> Compression:
    return Compression(dataset="digits", network="digits-cnn", penalty=PENALTIES[k], batch_size=BATCH)
