"""Which workload trains given runs: vectors in lockstep, networks in lockstep, or one network."""

from __future__ import annotations

from collections.abc import Sequence

from mobench.core.problem import Problem, Task, TaskProblem, VectorProblem
from mobench.core.streams import Streams
from mobench.errors import MethodError
from mobench.training.stacked_workload import stacked, stacked_tasks
from mobench.training.workload import TaskWorkload, VectorWorkload, Workload


def make_workload(members: Sequence[tuple[Problem, Streams]], *, as_vector: bool = True) -> Workload:
    """Return the workload that trains the given seeded instances together.

    `as_vector` says that the optimizer treats every number by itself, so that tensors may be joined.
    """
    problem, streams = members[0]
    if isinstance(problem, VectorProblem):
        return VectorWorkload(type(problem), members)
    if not isinstance(problem, TaskProblem):
        raise MethodError(f"{problem.id} is neither a VectorProblem nor a TaskProblem")
    if len(members) == 1:
        return workload_of(problem, problem.start(streams), streams.seed, as_vector=as_vector)
    together = stacked(problem, [each for _, each in members]) if _stacks(problem, as_vector) else None
    if together is None:
        raise MethodError(f"{problem.id}: its runs do not step together")
    return together


def workload_of(problem: TaskProblem, task: Task, seed: int, *, as_vector: bool = True) -> Workload:
    """Return the workload that trains one run that has been started."""
    alone = stacked_tasks(problem, [task], [seed]) if _stacks(problem, as_vector) else None
    return TaskWorkload(problem, task, seed, as_vector=as_vector) if alone is None else alone


def _stacks(problem: TaskProblem, as_vector: bool) -> bool:
    """Say whether runs of the problem are rows of a matrix, in company or alone."""
    return as_vector and problem.batch_key() is not None
