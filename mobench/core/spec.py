"""A run is a value: problem, method, training and seed, with an id that is their hash."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from mobench.core.method import Method
from mobench.core.problem import Problem
from mobench.core.registry import find_method, find_problem, source_digest
from mobench.core.settings import OF_TRAINING

FORMAT = 1
"""Raised when the meaning of a stored spec changes."""
_INFINITE = {"inf": math.inf, "-inf": -math.inf}


@dataclass(frozen=True)
class RunSpec:
    """Everything that determines a run's result. Equal specs have equal ids on every machine."""

    problem: str
    """The versioned id of the problem, e.g. `double-well@1`."""
    problem_settings: Mapping[str, Any]
    method: str
    """Name and version of the method, e.g. `pcd@1`."""
    method_settings: Mapping[str, Any]
    """The method's settings, and as `training.NAME` what its entry in the suite changes in the training."""
    training: Mapping[str, Any]
    seed: int
    sources: Mapping[str, str]
    """sha256 of the files of plugins that do not ship with mobench."""

    @classmethod
    def of(
        cls,
        problem: Problem,
        method: Method,
        training: Mapping[str, Any],
        seed: int,
        own_training: Mapping[str, Any] | None = None,
    ) -> RunSpec:
        """Describe the run of `method` on `problem`; every setting is spelled out, defaults too.

        `own_training` are the training settings in which this configuration of the method differs.
        """
        own = {f"{OF_TRAINING}{name}": value for name, value in (own_training or {}).items()}
        digests = {"method": source_digest(type(method)), "problem": source_digest(type(problem))}
        return cls(
            problem=problem.id,
            problem_settings=problem.configuration(),
            method=f"{method.name}@{method.version}",
            method_settings={**method.configuration(), **own},
            training=dict(training),
            seed=seed,
            sources={role: digest for role, digest in digests.items() if digest is not None},
        )

    @property
    def canonical(self) -> str:
        """The spec as JSON with sorted keys and one spelling for every number."""
        return _canonical({"format": FORMAT, **{name: getattr(self, name) for name in self.__dataclass_fields__}})

    @cached_property
    def id(self) -> str:
        """The run's id: the sha256 of its canonical JSON."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    @property
    def configuration(self) -> RunSpec:
        """The same spec without its seed: runs that differ in the seed alone share it."""
        return replace(self, seed=-1)

    @property
    def run_training(self) -> dict[str, Any]:
        """The training of this very run: the common one, and what the method's configuration changes in it."""
        return {**self.training, **self._own(training=True)}

    def _own(self, *, training: bool) -> dict[str, Any]:
        """Return the method's settings, or its training settings without their prefix."""
        given = self.method_settings.items()
        return {name.removeprefix(OF_TRAINING): v for name, v in given if name.startswith(OF_TRAINING) is training}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunSpec:
        """Restore a spec from its stored form."""
        fields: dict[str, Any] = {name: data[name] for name in cls.__dataclass_fields__}
        for name, value in fields.items():
            if isinstance(value, Mapping):
                fields[name] = settings_from_json(value)
        return cls(**fields)

    def build_problem(self) -> Problem:
        """Return the problem with this spec's settings."""
        return find_problem(self.problem)(**self.problem_settings)

    def build_method(self) -> Method:
        """Return the method with this spec's hyperparameters."""
        return find_method(self.method.partition("@")[0])(**self._own(training=False))


def hash_of(value: Any) -> str:
    """Return the sha256 of a value's canonical JSON."""
    return hashlib.sha256(_canonical(value).encode()).hexdigest()


def as_json(value: Any) -> Any:
    """Return a value as it is read back from its canonical JSON."""
    return json.loads(_canonical(value))


def _canonical(value: Any) -> str:
    encode = partial(json.dumps, sort_keys=True, separators=(",", ":"), allow_nan=False)
    try:
        return encode(value)
    except ValueError:
        return encode(_without_infinity(value))


def _without_infinity(value: Any) -> Any:
    """JSON has no infinity; it is stored as a word that the setting reads again."""
    if isinstance(value, Mapping):
        return {name: _without_infinity(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_infinity(item) for item in value]
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def settings_from_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Undo what JSON does to settings: tuples become lists there, and infinity a word."""
    read = {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}
    return {name: _INFINITE.get(value, value) if isinstance(value, str) else value for name, value in read.items()}
