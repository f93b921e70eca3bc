"""How long a plan will take: a few steps of every kind of run, timed here and now."""

from __future__ import annotations

from collections.abc import Sequence

from mobench.core.spec import RunSpec, hash_of
from mobench.training.loop import Group
from mobench.training.optimizer import Training

TRIED_STEPS = 20


def estimate_seconds(groups: Sequence[Sequence[RunSpec]], device: str) -> float:
    """Return the estimated seconds for all groups, one after the other, on `device`.

    A problem that states its cost per step is believed. For the others, one group of each kind
    takes a few steps here; kinds differ in problem, methods and number of objectives.
    """
    known: dict[str, float] = {}
    total = 0.0
    for specs in groups:
        first = specs[0]
        problem = first.build_problem()
        stated = problem.seconds_per_step(device)
        kind = hash_of([first.problem, sorted({spec.method for spec in specs}), len(problem.objectives())])
        if stated is None and kind not in known:
            known[kind] = _seconds_per_run_and_step(specs)
        per_step = known[kind] if stated is None else stated
        total += per_step * len(specs) * _steps(first)
    return total


def states_its_cost(specs: Sequence[RunSpec]) -> bool:
    """Say whether the runs' problem states what a step costs."""
    return specs[0].build_problem().seconds_per_step("cpu") is not None


def _seconds_per_run_and_step(specs: Sequence[RunSpec]) -> float:
    group = Group(specs)
    group.total = min(group.total, 1)
    group.run(None, 0.0)
    warm = group.seconds
    group.total = min(_steps(specs[0]), TRIED_STEPS + 1)
    group.run(None, 0.0)
    return (group.seconds - warm) / max(1, group.iteration - 1) / len(specs)


def _steps(spec: RunSpec) -> int:
    return Training(**spec.run_training).total_steps(spec.build_problem().steps_per_epoch())
