"""Whether the data of a plan is there, and what is run instead where it cannot be had."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import methodcaller

from mobench.core.problem import Problem
from mobench.core.spec import RunSpec, hash_of
from mobench.errors import MissingDataError, UserError
from mobench.planning.plan import Plan
from mobench.planning.suite import Suite

Prepare = Callable[[Problem], None]


def with_data(
    plans: Sequence[Plan],
    pending: Callable[[Plan], Iterable[RunSpec]],
    replan: Callable[[Suite], Plan],
    prepare: Prepare = methodcaller("prepare"),
) -> list[Plan]:
    """Prepare the data of all pending runs, and return the plans that can be run.

    A profile that the machine picked and whose data cannot be had gives way to the suite's `fallback`, whose remark
    says why. Of a profile that was asked for, the error is raised.
    """
    return [_with_data(plan, pending, replan, prepare) for plan in plans]


def prepare_all(specs: Iterable[RunSpec], prepare: Prepare = methodcaller("prepare")) -> None:
    """Prepare each problem of the runs once."""
    for spec in {hash_of([spec.problem, spec.problem_settings]): spec for spec in specs}.values():
        prepare(spec.build_problem())


def _with_data(
    plan: Plan, pending: Callable[[Plan], Iterable[RunSpec]], replan: Callable[[Suite], Plan], prepare: Prepare
) -> Plan:
    try:
        prepare_all(pending(plan), prepare)
    except MissingDataError as error:
        instead = plan.suite.fallback
        if instead is None:
            raise
        told = f"{instead.name}: profile={instead.profile} instead of profile={plan.suite.profile}: {error}"
        try:
            other = replan(replace(instead, remark=told))
            prepare_all(pending(other), prepare)
        except UserError:
            raise error from None
        return other
    return plan
