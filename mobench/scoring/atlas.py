"""The atlas: which methods give the same update, the same direction or opposite ones, as `mobench atlas` measured it.

The atlas that ships is read here, and nothing is measured: that is `mobench.conformance.survey`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import pandas as pd
from pydantic import TypeAdapter

from mobench.core.method import Method
from mobench.core.problem import Problem
from mobench.core.registry import methods
from mobench.scoring.contender import Contender, spelled

Classes = tuple[tuple[tuple[str, ...], ...], ...]
"""Classes of one direction, each divided into classes of one update, each a tuple of labels such as `pcd(tau=0)`."""

FILE = "atlas.json"
"""In the folder of the methods."""


@dataclass(frozen=True)
class Condition:
    """A kind of random gradients."""

    k: int
    conflict: bool
    """Whether at least two of the gradients have a negative product; otherwise none have."""
    equal: bool
    """Whether all gradients have the same length."""

    @property
    def words(self) -> str:
        """The condition as it is printed."""
        conflict, lengths = "conflict" if self.conflict else "no conflict", "equal" if self.equal else "unequal"
        return f"K = {self.k}, {conflict}, {lengths} lengths"


@dataclass(frozen=True)
class Comparison:
    """How two methods that are not one direction are related."""

    one: str
    other: str
    value: float
    """The share of steps with opposite directions, or the largest difference of the unit vectors."""


@dataclass(frozen=True)
class Column:
    """The relations of methods on one kind of gradients."""

    condition: Condition
    whole_run: bool
    """Whether updates were compared over whole runs; otherwise at the first step only."""
    classes: Classes
    """Those that contain at least two methods."""
    opposite: tuple[Comparison, ...]
    """Methods on one line whose directions are opposite in a share of steps."""
    nearly: tuple[Comparison, ...]
    """Methods whose directions differ by little, but by more than rounding."""

    @property
    def places(self) -> dict[str, tuple[int, int]]:
        """The class of one direction of each label, and within it the class of one update."""
        return {
            label: (i, j) for i, updates in enumerate(self.classes) for j, same in enumerate(updates) for label in same
        }


@dataclass(frozen=True)
class Atlas:
    """All relations that were measured."""

    draws: int
    """How many first steps were compared on each kind of gradients."""
    runs: int
    steps: int
    """The length of a run."""
    methods: tuple[str, ...]
    """The methods that were compared, each at its defaults and at other settings."""
    left_out: Mapping[str, str]
    """What was not compared, and why."""
    columns: tuple[Column, ...]

    @property
    def counts(self) -> list[int]:
        """The numbers of objectives."""
        return sorted({column.condition.k for column in self.columns})

    def always(self, k: int) -> Classes:
        """Return the classes of what agrees over whole runs on every kind of `k` gradients."""
        every = [column.places for column in self.columns if column.condition.k == k and column.whole_run]
        found: dict[tuple[int, ...], dict[tuple[int, ...], list[str]]] = defaultdict(lambda: defaultdict(list))
        for label in every[0] if every else ():
            if all(label in places for places in every):
                directions, updates = zip(*(places[label] for places in every), strict=True)
                found[directions][directions + updates].append(label)
        return several_methods(tuple(map(tuple, updates.values())) for updates in found.values())


def several_methods(classes: Iterable[tuple[tuple[str, ...], ...]]) -> Classes:
    """Return the classes that contain more than one method."""
    return tuple(updates for updates in classes if len({method_of(label) for same in updates for label in same}) > 1)


def label_of(method: type[Method], values: Mapping[str, Any]) -> str:
    """Return a method's name with the values that are not its defaults."""
    defaults = {name: setting.default for name, setting in method.settings.items()}
    changed = [f"{name}={spelled(value)}" for name, value in values.items() if value != defaults[name]]
    return f"{method.name}({', '.join(changed)})" if changed else method.name


def method_of(label: str) -> str:
    """Return the method of a label such as `pcd(tau=0)`, or its title."""
    return label.partition("(")[0].rstrip()


JSON = TypeAdapter(Atlas)


@cache
def shipped_atlas() -> Atlas:
    """Return the atlas of the methods that ship with mobench."""
    return JSON.validate_json((resources.files("mobench.methods") / FILE).read_bytes())


def same_direction(labels: Collection[str], k: int, atlas: Atlas | None = None) -> Classes:
    """Return which of the labelled methods can differ only by the lengths of their steps, or not at all.

    Only what holds over whole runs, whatever the `k` gradients are. The atlas knows 2, 3 and 6 objectives and the
    settings that it was measured at; of others it says nothing.
    """
    wanted = set(labels)
    classes = (atlas or shipped_atlas()).always(k)
    kept = (tuple(tuple(label for label in same if label in wanted) for same in updates) for updates in classes)
    return several_methods(tuple(same for same in updates if same) for updates in kept)


def one_direction(table: pd.DataFrame, problems: Mapping[str, Problem]) -> list[tuple[int, Classes]]:
    """Return for each number of objectives which methods of a suite's runs have one direction on any gradients.

    `problems` are those of the instances in the table. Methods have their titles, with the settings that were swept.
    """
    known, found = methods(), []
    counts = {name: len(problem.objectives()) for name, problem in problems.items()}
    for k in sorted(set(counts.values())) if len(table) else ():
        shown: dict[str, str] = {}
        configurations = table[table["instance"].map(counts) == k].drop_duplicates("configuration")
        for name, rows in configurations.groupby("method", sort=False):
            method = known.get(str(name))
            if method is None:
                continue
            tried = [_settings(row, method.settings) for row in rows.to_dict("records")]
            swept = [name for name in method.settings if any(one.get(name) != tried[0].get(name) for one in tried)]
            for values in tried:
                settings = tuple((name, values[name]) for name in swept if name in values)
                shown[label_of(method, values)] = Contender(method.name, settings).title
        classes = same_direction(shown, k)
        named = tuple(tuple(tuple(shown[label] for label in same) for same in updates) for updates in classes)
        if named:
            found.append((k, named))
    return found


def _settings(row: Mapping[Any, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the settings of a row of runs; implicit ones that were left out are NaN, which is not equal to itself."""
    columns = {name: f"method.{name}" for name in names if f"method.{name}" in row}
    return {name: row[column] for name, column in columns.items() if row[column] == row[column]}
