"""How long a plan will take: a few steps of every kind of run, timed here and now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mobench.core.spec import RunSpec, hash_of
from mobench.errors import UserError
from mobench.training.loop import Group
from mobench.training.optimizer import Training

TRIED_STEPS = 20
LONGEST_BY_CHANCE = 2 * 86400.0
"""Seconds that a run may take on a CPU which nobody asked for."""


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


def refuse_days_on_cpu(runs: Iterable[RunSpec]) -> None:
    """Refuse runs that by the stated cost of their problems are made for a GPU: days each on one core."""
    tried: set[str] = set()
    for spec in runs:
        kind = hash_of([spec.problem, spec.problem_settings, spec.run_training])
        if kind in tried:
            continue
        tried.add(kind)
        seconds = (spec.build_problem().seconds_per_step("cpu") or 0.0) * _steps(spec)
        if seconds > LONGEST_BY_CHANCE:
            raise UserError(
                f"{spec.method} on {spec.problem} would take about {seconds / 86400:,.0f} days on a core of the CPU, "
                "and no GPU was found or asked for; device=cpu runs it there all the same"
            )


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
