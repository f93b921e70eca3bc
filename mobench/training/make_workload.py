"""Which workload trains given runs: vectors in lockstep, networks in lockstep, or one network."""

from __future__ import annotations

from collections.abc import Sequence

from mobench.core.problem import Problem, TaskProblem, VectorProblem
from mobench.core.streams import Streams
from mobench.errors import MethodError
from mobench.training.stacked_workload import stacked
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
    if as_vector and problem.batch_key() is not None:
        together = stacked(problem, [each for _, each in members])
        if together is not None:
            return together
    if len(members) > 1:
        raise MethodError(f"{problem.id}: its runs do not step together")
    return TaskWorkload(problem, problem.start(streams), streams.seed, as_vector=as_vector)
