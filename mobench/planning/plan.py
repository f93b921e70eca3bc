"""From a suite and overrides to a plan: every run a spec, checked before anything starts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from pydantic import ValidationError

from mobench.core.problem import Problem, VectorProblem
from mobench.core.registry import find_method, find_problem
from mobench.core.settings import OF_TRAINING, Configurable
from mobench.core.spec import RunSpec, hash_of
from mobench.errors import UserError, misshaped, unknown
from mobench.planning.experiment import Experiment, difference
from mobench.planning.overrides import read_value, section, with_one_length
from mobench.planning.suite import Suite, load_suites, parse_seeds
from mobench.planning.suite_parts import EVERYWHERE
from mobench.planning.variants import LENGTHS, overridden, without_other_length
from mobench.training.optimizer import ELEMENT_BY_ELEMENT, Training

Owner = TypeVar("Owner", bound=Configurable)

GROUP_SIZE = 96
"""At most this many runs train in lockstep: enough to share the cost of a step, few enough to
spread over the workers and to lose little when a group is killed."""
MOST_RUNS = 1_000_000
"""A plan of more runs is refused before any of them is made; a million take a few GB of the driver's memory."""
VECTOR_SECONDS = 3e-6
"""What a step of a run in lockstep may take for each objective; a wrong guess makes jobs too long or too short."""
NETWORK_SECONDS = 5e-4
"""The same for small networks."""
NETWORKS = 16
"""At most this many networks do: with more, what a step touches leaves the cache, and memory grows."""


@dataclass(frozen=True)
class Plan:
    """The runs of one suite."""

    suite: Suite
    """The suite with the overrides."""
    specs: tuple[RunSpec, ...]
    base: Suite
    """The suite as its file has it."""

    @property
    def differs(self) -> str:
        """In what the plan's runs differ from the suite's profile, empty where in nothing."""
        return difference(Experiment.of(self.suite), Experiment.of(self.base)).words


def make_plans(names: Sequence[str], profile: str | None, overrides: Mapping[str, Any]) -> list[Plan]:
    """Return one plan per suite; a suite that includes others becomes their plans."""
    return [make_plan(suite, overrides) for suite in load_suites(names, profile)]


Note = Callable[[Configurable, str], None]
"""Told before code of a method or problem runs: whose, and what it does."""


def make_plan(suite: Suite, overrides: Mapping[str, Any], note: Note = lambda owner, doing: None) -> Plan:
    """Check every setting of the suite and the overrides, and expand all sweeps."""
    base, suite = suite, override_suite(suite, overrides)
    _refuse_size(suite)
    problems = [entry for name, given in suite.problems.items() for entry in expand_entry(find_problem(name), given)]
    methods = [entry for name, given in suite.methods.items() for entry in expand_entry(find_method(name), given)]
    specs = []
    for (problem, changed), (method, own) in itertools.product(problems, methods):
        training = Training(**{**suite.training, **with_one_length(changed, suite.training)})
        own = with_one_length(own, training.configuration())
        refuse_shared_tensor(problem, Training(**{**training.configuration(), **own}))
        if method.takes_proximal_steps and not problem.takes_proximal_steps():
            raise UserError(
                f"the method '{method.name}' takes proximal steps, and {problem.id} has no proximal maps; leave it out"
            )
        if method.needs_second_batch and not problem.has_second_batch:
            raise UserError(
                f"the method '{method.name}' needs a second, independent batch of training data at every step, and "
                f"{problem.id} has none; leave it out"
            )
        for seed in suite.seeds:
            specs.append(RunSpec.of(problem, method, training.configuration(), seed, own))
        note(problem, "its objectives")
        k = len(problem.objectives())
        note(method, "its reset")
        method.reset(k, np.random.default_rng(0))
    return Plan(suite, tuple({spec.id: spec for spec in specs}.values()), base)


def _refuse_size(suite: Suite) -> None:
    """Count the runs before one is made, and refuse none as well as too many."""
    if not suite.methods:
        raise UserError(f"suite {suite.name} has no methods; methods=A,B names some")
    configurations = [sum(map(_configurations, part.values())) for part in (suite.problems, suite.methods)]
    runs = math.prod(configurations) * len(suite.seeds)
    if runs > MOST_RUNS:
        raise UserError(
            f"suite {suite.name} plans {runs:,} runs: {configurations[0]:,} problems × {configurations[1]:,} methods × "
            f"{len(suite.seeds):,} seeds, each with its sweep; a plan has at most {MOST_RUNS:,}"
        )


def _configurations(entry: Any) -> int:
    """Return how many points the sweeps of an entry have."""
    lists = ([value for value in variant.values() if isinstance(value, list)] for variant in _variants(entry))
    return sum(math.prod(map(len, found)) for found in lists)


def refuse_shared_tensor(problem: Problem, training: Training) -> None:
    """Refuse an optimizer that mixes the numbers of a tensor where a tensor holds many runs."""
    if isinstance(problem, VectorProblem) and not training.element_by_element:
        raise UserError(
            f"training.optimizer={training.optimizer} is not accepted for {problem.id}: its runs share one tensor, "
            f"and this optimizer mixes what is in it. Accepted: {', '.join(ELEMENT_BY_ELEMENT)}"
        )


def override_suite(suite: Suite, overrides: Mapping[str, Any]) -> Suite:
    """Return the suite with the command line's overrides applied."""
    overrides = {**overrides, **_for_all_problems(suite, overrides)}
    typed = section(overrides, "training").items()
    training = {key: read_value(f"training.{key}", Training.settings.get(key), value) for key, value in typed}
    changed = {
        "problems": _change("problems", suite.problems, overrides, find_problem, lambda problem: problem.id),
        "methods": _change(
            "methods", suite.methods, overrides, find_method, lambda method: method.name, suite.every_method
        ),
        "training": suite.training | with_one_length(training, suite.training),
        "seeds": parse_seeds(overrides["seeds"], suite.seeds) if "seeds" in overrides else suite.seeds,
        "time_limit": overrides.get("time_limit", suite.time_limit),
    }
    try:
        return replace(suite, **changed)
    except ValidationError as error:
        raise misshaped("overrides", changed, error) from None


def _for_all_problems(suite: Suite, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the short keys of `EVERYWHERE` mean: that setting of every problem which has it."""
    asked: Sequence[str] = overrides.get("problems") or list(suite.problems)
    solved = [find_problem(name.removeprefix("+")) for name in asked]
    found: dict[str, Any] = {}
    for key in EVERYWHERE:
        if key not in overrides:
            continue
        own = {f"problems.{problem.id}.{key}": overrides[key] for problem in solved if key in problem.settings}
        if not own:
            raise UserError(
                f"{key}={overrides[key]} has no effect in suite {suite.name}: no problem of it has this setting"
            )
        found |= own
    return found


def _change(
    part: str,
    entries: Mapping[str, Any],
    overrides: Mapping[str, Any],
    find: Callable[[str], Any],
    id_: Callable[[Any], str],
    common: Mapping[str, Any] | None = None,
) -> dict[str, list[dict[str, Any]]]:
    """Keep the entries that are asked for, and apply `<part>.<name>.<setting>=value` to the variants of an entry.

    A name that the suite does not list joins with its defaults and what is `common` to all; names with a leading `+`
    are added to all that the suite lists.
    """
    known = {id_(find(name)): _variants(entry) for name, entry in entries.items()}
    asked: Sequence[str] = overrides.get(part) or []
    plain = [id_(find(name)) for name in asked if not name.startswith("+")]
    added = sorted({id_(find(name[1:])) for name in asked if name.startswith("+")})
    result = {name: known.get(name, [dict(common or {})]) for name in [*(plain or known), *added]}
    for key, value in section(overrides, part).items():
        name, own, setting = key.partition(f".{OF_TRAINING}")
        dot = own
        if not own:
            name, dot, setting = key.rpartition(".")
        if not dot:
            raise UserError(f"{part}.{key}={value} is not accepted; write {part}.NAME.SETTING=VALUE")
        owner = find(name)
        if id_(owner) not in result:
            raise unknown(f"entry of {part} in this run", name, result)
        declared = (Training if own else owner).settings.get(setting)
        read = read_value(f"{part}.{key}", declared, value)
        setting = f"{OF_TRAINING}{setting}" if own else setting
        before = result[id_(owner)]
        if not any(f"{part}.{name}.{length}" in overrides for length in LENGTHS if length != setting):
            before = [without_other_length(variant, setting) for variant in before]
        result[id_(owner)] = overridden(before, setting, read, owner.settings)
    return result


def _variants(entry: Any) -> list[dict[str, Any]]:
    return entry if isinstance(entry, list) else [entry]


def expand(owner: type[Owner], entry: Any) -> list[Owner]:
    """Build one object per point of the product of all listed values, for each variant of a suite's entry."""
    return [built for built, _ in expand_entry(owner, entry)]


def expand_entry(owner: type[Owner], entry: Any) -> list[tuple[Owner, dict[str, Any]]]:
    """Do as `expand`, and return beside each object what its entry says of the training, as `training.lr: [...]`."""
    built = []
    for variant in _variants(entry):
        axes = [[(key, item) for item in _sweep(owner, key, values)] for key, values in variant.items()]
        for point in itertools.product(*axes):
            own = {key: value for key, value in point if not key.startswith(OF_TRAINING)}
            training = {key.removeprefix(OF_TRAINING): value for key, value in point if key.startswith(OF_TRAINING)}
            built.append((owner(**own), _canonical(with_one_length(training, {}))))
    return built


def _canonical(training: dict[str, Any]) -> dict[str, Any]:
    """Return training settings in the form in which they are stored; what depends on others is checked with them."""
    known = {key: setting for key, setting in Training.settings.items() if key in training}
    return training | {key: setting.parse(f"training.{key}", training[key]) for key, setting in known.items()}


def _sweep(owner: type[Configurable], key: str, values: Any) -> Iterable[Any]:
    """A list is a sweep. One value per objective is written as a list inside the list."""
    if not isinstance(values, list):
        return [values]
    setting = owner.settings.get(key)
    if not values:
        raise UserError(f"{owner.label()}.{key}=[] is an empty sweep")
    if any(isinstance(item, list) for item in values) and setting is not None and setting.kind != "reals":
        raise UserError(f"{owner.label()}.{key} takes no list of lists")
    return values


def make_groups(
    specs: Sequence[RunSpec], workers: int = 1, note: Note = lambda owner, doing: None
) -> list[list[RunSpec]]:
    """Divide runs into groups of one method that may train in lockstep; none is more than the share of a worker.

    Runs of foreign code share a group only with runs of the same files.
    """
    groups: dict[Any, list[RunSpec]] = {}
    together: dict[str, bool] = {}
    for spec in specs:
        training = hash_of(spec.run_training)
        if training not in together:
            together[training] = Training(**spec.run_training).element_by_element
        problem = spec.build_problem()
        note(problem, "its batch key")
        key = problem.batch_key() if together[training] else None
        sources = tuple(sorted(spec.sources.items()))
        groups.setdefault(spec.id if key is None else (key, training, spec.method, sources), []).append(spec)
    work = {key: expected_seconds(members) for key, members in groups.items()}
    share = sum(work.values()) / workers
    chunks = []
    for key, members in groups.items():
        networks = not isinstance(members[0].build_problem(), VectorProblem)
        count = max(
            -(-len(members) // (NETWORKS if networks else GROUP_SIZE)),
            min(len(members), math.ceil(work[key] / share - 1e-9)),
        )
        if networks and count > workers:
            count = min(len(members), -(-count // workers) * workers)
        chunks += [members[start::count] for start in range(count)]
    return chunks


def cpu_problems(specs: Iterable[RunSpec]) -> frozenset[str]:
    """Return the problems of these runs that use no device."""
    return frozenset(name for name in {spec.problem for spec in specs} if not find_problem(name).uses_device)


def expected_seconds(specs: Sequence[RunSpec]) -> float:
    """Return the seconds that a group may take: right for what is small, and a share of the work for what is not."""
    problem = specs[0].build_problem()
    steps = Training(**specs[0].run_training).total_steps(problem.steps_per_epoch())
    seconds = VECTOR_SECONDS if isinstance(problem, VectorProblem) else NETWORK_SECONDS
    return seconds * len(specs) * max(1, steps) * len(problem.objectives())
