"""A rehearsal of a plan: for each problem and form of a method one run, of two steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mobench.core.registry import find_method
from mobench.core.settings import OF_TRAINING, Configurable
from mobench.core.spec import RunSpec, hash_of
from mobench.planning.plan import Plan

STEPS = 2
"""Of a run that counts in steps. One that counts in epochs has one, whose made-up data is as many batches."""


def rehearsed(plan: Plan) -> Plan:
    """Return the plan with one short run for each cell of its tables, at the middle of the sweep."""
    cells: dict[str, list[RunSpec]] = {}
    for spec in (spec for spec in plan.specs if spec.seed == plan.specs[0].seed):
        form = _form(find_method(spec.method.partition("@")[0]), spec.method_settings)
        cells.setdefault(hash_of([spec.problem, spec.problem_settings, spec.method, form]), []).append(spec)
    return replace(plan, specs=tuple(_shortened(members[len(members) // 2]) for members in cells.values()))


def _form(kind: type[Configurable], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that are no numbers, which make another method of a method."""
    numbers = ("real", "reals", "integer")
    return {name: value for name, value in settings.items() if name in kind.settings
            and kind.settings[name].kind not in numbers}  # fmt: skip


def _shortened(spec: RunSpec) -> RunSpec:
    """Return the run with one epoch, or two steps."""
    epochs = spec.run_training.get("epochs", 0)
    length = {"epochs": 1} if epochs else {"epochs": 0, "steps": STEPS}
    own = {name: value for name, value in spec.method_settings.items() if name.removeprefix(OF_TRAINING) not in length}
    return replace(spec, training={**spec.training, **length}, method_settings=own)


def cell_names(specs: Sequence[RunSpec]) -> list[str]:
    """Name each run by the words in which its problem differs from others, e.g. a network, its method and its form."""
    problems = [{"id": spec.problem, **_words(spec.problem_settings)} for spec in specs]
    forms = [_words(_form(find_method(spec.method.partition("@")[0]), spec.method_settings)) for spec in specs]
    names = []
    for spec, problem, form in zip(specs, problems, forms, strict=True):
        alike = [other for each, other in zip(specs, forms, strict=True) if each.method == spec.method]
        names.append(" ".join([*_varying(problem, problems), spec.method.partition("@")[0], *_varying(form, alike)]))
    return names


def _words(settings: Mapping[str, Any]) -> dict[str, str]:
    return {name: value for name, value in settings.items() if isinstance(value, str)}


def _varying(words: Mapping[str, str], others: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the words that are not the same everywhere."""
    return [word for name, word in words.items() if len({other.get(name) for other in others}) > 1]
