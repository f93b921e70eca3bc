"""From a suite and overrides to a plan: every run a spec, checked before anything starts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from mobench.core.registry import find_method, find_problem
from mobench.core.settings import Configurable, Reals
from mobench.core.spec import RunSpec, hash_of
from mobench.errors import UserError, unknown
from mobench.planning.overrides import section
from mobench.planning.suite import Suite, load_suite, parse_seeds
from mobench.training.optimizer import Training

Owner = TypeVar("Owner", bound=Configurable)

GROUP_SIZE = 96
"""At most this many runs train in lockstep: enough to share the cost of a step, few enough to
spread over the workers and to lose little when a group is killed."""


@dataclass(frozen=True)
class Plan:
    """The runs of one suite."""

    suite: Suite
    specs: tuple[RunSpec, ...]


def make_plans(names: Sequence[str], profile: str | None, overrides: Mapping[str, Any]) -> list[Plan]:
    """Return one plan per suite; a suite that includes others becomes their plans."""
    plans = []
    for name in names:
        suite = load_suite(name, profile)
        if suite.include:
            plans += [make_plan(load_suite(part, profile), overrides) for part in suite.include]
        else:
            plans.append(make_plan(suite, overrides))
    return plans


def make_plan(suite: Suite, overrides: Mapping[str, Any]) -> Plan:
    """Check every setting of the suite and the overrides, and expand all sweeps."""
    suite = override_suite(suite, overrides)
    training = Training(**suite.training)
    problems = _expand(suite.problems, find_problem)
    methods = _expand(suite.methods, find_method)
    specs = []
    for problem, method, seed in itertools.product(problems, methods, suite.seeds):
        specs.append(RunSpec.of(problem, method, training.configuration(), seed))
    for problem, method in itertools.product(problems, methods):
        method.reset(len(problem.objectives()), np.random.default_rng(0))
    return Plan(suite, tuple({spec.id: spec for spec in specs}.values()))


def override_suite(suite: Suite, overrides: Mapping[str, Any]) -> Suite:
    """Return the suite with the command line's overrides applied."""
    problems = _select(suite.problems, overrides.get("problems"), lambda name: find_problem(name).id)
    methods = _select(suite.methods, overrides.get("methods"), lambda name: find_method(name).name)
    return replace(
        suite,
        problems=_change(problems, section(overrides, "problems"), "problems", lambda name: find_problem(name).id),
        methods=_change(methods, section(overrides, "methods"), "methods", lambda name: find_method(name).name),
        training={**suite.training, **section(overrides, "training")},
        seeds=parse_seeds(overrides["seeds"], suite.seeds) if "seeds" in overrides else suite.seeds,
        time_limit=overrides.get("time_limit", suite.time_limit),
    )


def _select(listed: Mapping[str, Any], names: Sequence[str] | None, resolve: Callable[[str], str]) -> dict[str, Any]:
    """Keep the named entries; a name the suite does not list joins with its defaults.

    Names with a leading `+` are added to all that the suite lists.
    """
    known = {resolve(name): value for name, value in listed.items()}
    if names is None:
        return known
    added = {resolve(name[1:]) for name in names if name.startswith("+")}
    chosen = [resolve(name) for name in names if not name.startswith("+")]
    kept = {name: known.get(name, {}) for name in chosen} if chosen else known
    return {**kept, **{name: known.get(name, {}) for name in sorted(added)}}


def _change(
    entries: Mapping[str, Any], changes: Mapping[str, Any], part: str, resolve: Callable[[str], str]
) -> dict[str, Any]:
    """Apply `<name>.<setting>=value` to every variant of that entry."""
    result = {name: _variants(value) for name, value in entries.items()}
    for key, value in changes.items():
        name, dot, setting = key.partition(".")
        if not dot:
            raise UserError(f"{part}.{key}={value} is not accepted; write {part}.NAME.SETTING=VALUE")
        resolved = resolve(name)
        if resolved not in result:
            raise unknown(f"entry of {part} in this run", name, result)
        result[resolved] = [{**variant, setting: value} for variant in result[resolved]]
    return result


def _variants(value: Any) -> list[dict[str, Any]]:
    variants = value if isinstance(value, list) else [value or {}]
    for variant in variants:
        if not isinstance(variant, Mapping):
            raise UserError(f"settings must be a mapping, not {variant!r}")
    return [dict(variant) for variant in variants]


def _expand(entries: Mapping[str, Any], find: Callable[[str], type[Owner]]) -> list[Owner]:
    """Build one object per point of the product of all listed values."""
    built = []
    for name, value in entries.items():
        owner = find(name)
        for variant in _variants(value):
            axes = [[(key, item) for item in _sweep(owner, key, values)] for key, values in variant.items()]
            built += [owner(**dict(point)) for point in itertools.product(*axes)]
    return built


def _sweep(owner: type[Configurable], key: str, values: Any) -> Iterable[Any]:
    """A list is a sweep. One value per objective is written as a list inside the list."""
    if not isinstance(values, list):
        return [values]
    if not values:
        raise UserError(f"{owner.label()}.{key}=[] is an empty sweep")
    if any(isinstance(item, list) for item in values) and not isinstance(owner.settings.get(key), Reals):
        raise UserError(f"{owner.label()}.{key} takes no list of lists")
    return values


def make_groups(specs: Sequence[RunSpec]) -> list[list[RunSpec]]:
    """Divide runs into groups that may train in lockstep."""
    groups: dict[Any, list[RunSpec]] = {}
    for spec in specs:
        key = spec.build_problem().batch_key()
        groups.setdefault(spec.id if key is None else (key, hash_of(spec.training)), []).append(spec)
    chunks = []
    for members in groups.values():
        count = -(-len(members) // GROUP_SIZE)
        chunks += [members[start::count] for start in range(count)]
    return chunks


def expected_work(specs: Sequence[RunSpec]) -> float:
    """Return a group's expected share of the work: its runs times steps times objectives."""
    problem = specs[0].build_problem()
    steps = Training(**specs[0].training).total_steps(problem.steps_per_epoch())
    return float(len(specs) * max(1, steps) * len(problem.objectives()))
