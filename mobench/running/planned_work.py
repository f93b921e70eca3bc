"""From suites and overrides to the groups that are still to run, with every plugin's code kept out of the scheduler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from mobench.core.method import Method
from mobench.core.problem import Problem
from mobench.core.registry import (
    has_installed_packages,
    load_plugins,
    methods,
    plugin_paths,
    source_digest,
    source_file,
)
from mobench.core.settings import Configurable
from mobench.core.spec import RunSpec, hash_of
from mobench.errors import MissingDataError, UserError
from mobench.planning.estimate import refuse_days_on_cpu
from mobench.planning.plan import Note as WhoseCode
from mobench.planning.plan import Plan, cpu_problems, expected_seconds, make_groups, make_plan
from mobench.planning.problem_suite import suite_of_problem
from mobench.planning.rehearsal import rehearsed
from mobench.planning.suite import Suite
from mobench.running.guarded_call import call_in_worker
from mobench.running.worker_main import Note
from mobench.store.folder import DamagedRecordError, Store


@dataclass(frozen=True)
class Request:
    """What is to be planned."""

    suites: Sequence[Suite]
    overrides: Mapping[str, Any]
    root: Path
    plugins: Sequence[str] = ()
    problems: Sequence[str] = ()
    """Problems to run without a suite."""
    retry_failed: bool = False
    workers: int = 1
    """How many share the runs of problems that use no device."""
    device_workers: int | UserError = 1
    """How many share those of the others, or why there is no place for any."""
    cpu_by_chance: bool = False
    """Whether these would train on the CPU without anybody having said so."""
    prepare: bool = True
    """Whether data has to be there."""
    rehearsal: bool = False
    """Whether it is only to be seen that all of it can be run."""


@dataclass(frozen=True)
class PlannedWork:
    """All runs, and those to do in groups with their expected seconds."""

    plans: list[Plan]
    pending: list[RunSpec]
    groups: list[list[RunSpec]]
    weights: list[float]
    damage: list[str] = field(default_factory=list)
    """What is wrong with stored records; their runs are to do."""
    cpu_problems: frozenset[str] = frozenset()
    """The problems of those runs that use no device."""


def plan_work(request: Request, check: Callable[[Sequence[Suite]], None], *, guarded: bool) -> PlannedWork:
    """Plan in this process, or `guarded` in a worker where code that does not ship with mobench would run.

    `check` refuses mistakes in suites; it has to be a function of a module, since a worker calls it by name.
    """
    if guarded and has_foreign_code(request.plugins):
        planned: PlannedWork = call_in_worker("mobench.running.planned_work:plan_noting", request, check)
        return planned
    return plan_noting(silent, request, check)


def has_foreign_code(plugins: Sequence[str]) -> bool:
    """Say whether anything is loaded that does not ship with mobench."""
    return bool(plugins) or has_installed_packages()


def load_noting(note: Note, plugins: Sequence[str]) -> None:
    """Load plugins, and note each file before."""
    for file in plugin_paths(plugins):
        note(f"plugins={file}: importing it")
        load_plugins([file])


def plan_noting(note: Note, request: Request, check: Callable[[Sequence[Suite]], None]) -> PlannedWork:
    """Plan, and note whose code runs next."""
    load_noting(note, request.plugins)
    about = _telling(note)
    note("loading installed packages")
    methods()
    note("checking the suites", limited=False)
    suites = [*request.suites, *map(suite_of_problem, request.problems)]
    check(suites)
    plans = [make_plan(suite, request.overrides, about) for suite in suites]
    if request.rehearsal:
        plans = list(map(rehearsed, plans))
    todo = partial(Store(request.root).pending, retry_failed=request.retry_failed)
    on_cpu = cpu_problems(spec for plan in plans for spec in plan.specs)
    if request.prepare:
        for plan in plans:
            runs = todo(plan.specs, on_damage=_told_later)
            if on_device := [run for run in runs if run.problem not in on_cpu]:
                _device_workers(request)
                if request.cpu_by_chance:
                    refuse_days_on_cpu(on_device)
            _prepare_data(plan.suite, runs, about)
    specs = {spec.id: spec for plan in plans for spec in plan.specs}
    damage: list[DamagedRecordError] = []
    note("reading the results", limited=False)
    pending = todo(specs.values(), on_damage=damage.append)
    groups = make_groups([spec for spec in pending if spec.problem in on_cpu], request.workers, about)
    if on_device := [spec for spec in pending if spec.problem not in on_cpu]:
        groups += make_groups(on_device, _device_workers(request), about)
    weights = []
    for group in groups:
        about(group[0].build_problem(), "its number of steps")
        weights.append(expected_seconds(group))
    return PlannedWork(plans, pending, groups, weights, [str(each) for each in damage], on_cpu)


def _device_workers(request: Request) -> int:
    """Return how many workers share the runs that use a device; raise where there is no place for any."""
    if isinstance(request.device_workers, UserError):
        raise request.device_workers
    return request.device_workers


def _told_later(damage: DamagedRecordError) -> None:
    """Leave it to the last look at the results to report."""


def _prepare_data(suite: Suite, runs: Sequence[RunSpec], note: WhoseCode) -> None:
    """Prepare each problem of the runs once; a suite whose profile the machine picked names the one without a GPU."""
    for spec in {hash_of([spec.problem, spec.problem_settings]): spec for spec in runs}.values():
        problem = spec.build_problem()
        note(problem, "its preparation")
        try:
            problem.prepare()
        except MissingDataError as error:
            if not suite.cpu_profile:
                raise
            raise UserError(
                f"{suite.name}, profile={suite.profile}: {error}. data.root=DIR names a folder that has the data; "
                f"profile={suite.cpu_profile} device=cpu needs none"
            ) from error


def _telling(note: Note) -> WhoseCode:
    """Return what notes whose code runs, each time that changes."""
    last = ""
    places: dict[type, str] = {}

    def tell(owner: Configurable, doing: str) -> None:
        nonlocal last
        kind = type(owner)
        if kind not in places:
            places[kind] = ""
            if issubclass(kind, (Method, Problem)) and source_digest(kind) is not None:
                places[kind] = f"plugins={source_file(kind)}: "
        text = f"{places[kind]}{kind.label()}: {doing}"
        if text != last:
            last = text
            note(text, limited=bool(places[kind]))

    return tell


def silent(text: str, limited: bool = True) -> None:
    """Note nothing."""
