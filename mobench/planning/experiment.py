"""Which runs may share a table: an experiment is a suite, a profile, and what differs from that profile.

What decides the numbers of a plan are its training, its seeds, its problem instances and the sweep of each method.
A plan is the profile's own experiment if its training is the profile's and everything else is a part of the profile:
fewer seeds, problems, methods or configurations make it incomplete, not different. Methods that the profile does not
list are comparable to those that it lists, whatever their sweep. Anything else is another experiment, named by what
differs, as one writes it on the command line: `training.steps=30, methods.pcd.tau=[0.5,0.9]`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pydantic import ConfigDict

from mobench.core.registry import find_method, find_problem, methods, problems
from mobench.core.settings import OF_TRAINING, Configurable
from mobench.core.spec import as_json, hash_of
from mobench.errors import UserError
from mobench.planning.suite import Suite
from mobench.training.optimizer import Training

Point = dict[str, Any]
"""Every setting of a method or problem, and `training.*` where its entry changes the training."""
Points = Mapping[str, list[Point]]

LISTED = 8
"""How many values a name spells out."""


@dataclass(frozen=True)
class Experiment:
    """What decides the numbers of a plan, as JSON has it."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    training: dict[str, Any]
    seeds: list[int]
    problems: dict[str, list[Point]]
    methods: dict[str, list[Point]]

    @classmethod
    def of(cls, suite: Suite) -> Experiment:
        """Return the experiment that a suite describes; of a plugin that is not loaded only what the suite says."""
        return cls(
            training=_json(Training(**suite.training).configuration()),
            seeds=sorted(suite.seeds),
            problems=_expanded(suite.problems, find_problem, lambda problem: problem.id),
            methods=_expanded(suite.methods, find_method, lambda method: method.name),
        )

    def within(self, profile: Experiment) -> Experiment:
        """Return the experiment with all that it leaves out of the profile."""
        found = difference(self, profile).parts
        return replace(
            self,
            seeds=self.seeds if "seeds" in found else profile.seeds,
            problems=profile.problems
            | {id_: each for id_, each in self.problems.items() if f"problems.{id_}" in found},
            methods=profile.methods | {name: each for name, each in self.methods.items() if f"methods.{name}" in found},
        )


@dataclass(frozen=True)
class Difference:
    """In what an experiment differs from a profile."""

    parts: Mapping[str, Any]
    """The settings, seeds and sweeps that differ; equal for equal experiments."""
    words: str
    """The same for readers, empty where nothing differs."""


def difference(experiment: Experiment, profile: Experiment) -> Difference:
    """Return in what an experiment differs from the profile's own."""
    parts, words = _training(experiment.training, profile.training)
    if not set(experiment.seeds) <= set(profile.seeds):
        parts["seeds"] = experiment.seeds
        words.append(f"seeds={_listed(experiment.seeds)}")
    for kind, known in (("problems", problems()), ("methods", methods())):
        own: Points = getattr(profile, kind)
        for name, points in getattr(experiment, kind).items():
            if name in own:
                inside = _complete(own[name], known.get(name))
                given = _complete(points, known.get(name))
                if name not in known:  # the suite says nothing of the defaults
                    said = {key for point in inside for key in point}
                    given = [{key: value for key, value in point.items() if key in said} for point in given]
                outside = [point for point in given if point not in inside]
                if outside:
                    parts[f"{kind}.{name}"] = sorted(points, key=hash_of)
                    words += _settings(f"{kind}.{name}", given, outside, inside)
            elif kind == "problems":
                parts[f"{kind}.{name}"] = sorted(points, key=hash_of)
                words.append(f"problems=+{name}")
    return Difference(parts, ", ".join(words))


def _training(given: Mapping[str, Any], own: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    defaults = _json({name: setting.default for name, setting in Training.settings.items()})
    one, other = ({**defaults, **settings} for settings in (given, own))
    changed = [name for name in {**other, **one} if one.get(name) != other.get(name)]
    parts = {f"training.{name}": one.get(name) for name in changed}
    return parts, [f"{name}={_spelled(value)}" for name, value in parts.items()]


def _settings(name: str, given: list[Point], outside: list[Point], inside: list[Point]) -> list[str]:
    """Name the settings whose values the profile does not have; if it has all of them, those that vary."""
    keys = list(dict.fromkeys(key for point in given for key in point))
    named = [key for key in keys if not _values(outside, key) <= _values(inside, key)]
    if not named:
        named = [key for key in keys if len(_values([*given, *inside], key)) > 1]
    return [f"{name}.{key}={_listed(list({str(p.get(key)): p.get(key) for p in given}.values()))}" for key in named]


def _values(points: Iterable[Point], key: str) -> set[str]:
    return {str(point.get(key)) for point in points}


def _complete(points: Iterable[Point], owner: type[Configurable] | None) -> list[Point]:
    """Add the defaults that points leave out: implicit ones, and settings that came later."""
    defaults = _json({name: setting.default for name, setting in owner.settings.items()}) if owner else {}
    return [{**defaults, **point} for point in points]


def _expanded(entries: Mapping[str, Any], find: Callable[[str], Any], id_: Callable[[Any], str]) -> dict[str, Any]:
    """Return every point of the sweeps of a suite's entries."""
    found: dict[str, list[Point]] = {}
    for name, entry in entries.items():
        try:
            owner = find(name)
        except UserError:
            owner = None
        points = [_point(owner, point) for variant in _variants(entry) for point in _product(variant)]
        found[name if owner is None else id_(owner)] = points
    return found


def _variants(entry: Any) -> Sequence[Mapping[str, Any]]:
    return entry if isinstance(entry, list) else [entry or {}]


def _product(variant: Mapping[str, Any]) -> Iterable[Point]:
    axes = [[(key, item) for item in (each if isinstance(each, list) else [each])] for key, each in variant.items()]
    return map(dict, itertools.product(*axes))


def _point(owner: type[Configurable] | None, point: Point) -> Point:
    if owner is None:
        return _json(point)
    training = {key: _parsed(key, value) for key, value in point.items() if key.startswith(OF_TRAINING)}
    own = {key: value for key, value in point.items() if key not in training}
    return _json({**owner(**own).configuration(), **training})


def _parsed(key: str, value: Any) -> Any:
    setting = Training.settings.get(key.removeprefix(OF_TRAINING))
    return value if setting is None else setting.parse(key, value)


def _json(settings: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = as_json(settings)
    return found


def _listed(values: Sequence[Any]) -> str:
    """Spell a value, or a list of values; of a long list its ends and its length."""
    if len(values) == 1:
        return _spelled(values[0])
    if len(values) <= LISTED:
        return f"[{','.join(map(_spelled, values))}]"
    return f"[{_spelled(values[0])},{_spelled(values[1])},…,{_spelled(values[-1])}] ({len(values)})"


def _spelled(value: Any) -> str:
    if isinstance(value, list):
        return f"[{','.join(map(_spelled, value))}]"
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)
