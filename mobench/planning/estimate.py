"""How long a plan will take: a few steps of every kind of run, timed here and now."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mobench.core.resources import resources
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
            known[kind] = time_steps(specs).seconds / len(specs)
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


@dataclass(frozen=True)
class TimedSteps:
    """Timed steps of a group."""

    seconds: float
    """Of one step of all its runs."""
    steps: int
    """Over how many steps that is the mean."""
    error: str | None
    """Why a run of the group failed meanwhile."""


def time_steps(specs: Sequence[RunSpec], budget: float = math.inf) -> TimedSteps:
    """Take a few steps of runs in lockstep, and time them.

    The first step is not counted. The others are at most `TRIED_STEPS`, fewer where these would take longer than
    `budget` seconds, and one at least if the runs have a second step.
    """
    group = Group(specs)
    last = min(group.total, TRIED_STEPS + 1)
    _take(group, min(last, 1))
    seconds = _take(group, min(last, 2))
    last = min(last, 1 + math.ceil(min(TRIED_STEPS, budget / max(seconds, 1e-9))))
    seconds += _take(group, last)
    counted = max(1, group.iteration - 1)
    return TimedSteps(seconds / counted, counted, next(filter(None, (each.error for each in group.members)), None))


def _take(group: Group, last: int) -> float:
    """Train up to a step, and return the seconds until its results are there."""
    group.total = last
    _finish()
    started = time.perf_counter()
    group.run(None, 0.0)
    _finish()
    return time.perf_counter() - started


def _finish() -> None:
    """Wait for what a device still does."""
    device = resources().torch_device
    if device.startswith("cuda"):
        import torch

        torch.cuda.synchronize(device)


def _steps(spec: RunSpec) -> int:
    return Training(**spec.run_training).total_steps(spec.build_problem().steps_per_epoch())
