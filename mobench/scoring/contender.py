"""Contenders, the rows of a table: methods, or forms of a method. And short names of problem instances."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mobench.core.method import Method
from mobench.core.registry import methods
from mobench.errors import unknown


@dataclass(frozen=True)
class Contender:
    """A method with its whole sweep, or one form of it where a suite tells forms apart."""

    method: str
    settings: tuple[tuple[str, Any], ...] = ()
    """The settings that make the form and are not at their defaults."""

    @property
    def label(self) -> str:
        """Its name in files and on the command line, e.g. `ws(form=penalty)`. It is made here and never parsed."""
        return _in_brackets(self.method, "", (f"{name}={spelled(value)}" for name, value in self.settings))

    @property
    def title(self) -> str:
        """Its name for people, e.g. `Weighted sum (form=penalty)`; of several settings words stand alone."""
        known = methods().get(self.method)
        alone = len(self.settings) > 1
        shown = [
            value if alone and isinstance(value, str) else f"{name}={spelled(value)}" for name, value in self.settings
        ]
        return _in_brackets(known.title if known else self.method, " ", shown)


def _in_brackets(name: str, space: str, parts: Iterable[str]) -> str:
    inside = ", ".join(parts)
    return f"{name}{space}({inside})" if inside else name


def contenders_of(table: pd.DataFrame, split: Sequence[str] = ()) -> dict[str, Contender]:
    """Return the contender of every configuration; runs of one configuration have one method."""
    settings = [setting.removeprefix("method.") for setting in split if setting in table]
    firsts = table.loc[
        ~table["configuration"].duplicated(), ["configuration", "method", *(f"method.{name}" for name in settings)]
    ]
    known = methods()
    return {str(row["configuration"]): _contender(row, settings, known) for row in firsts.to_dict("records")}


def with_contenders(table: pd.DataFrame, split: Sequence[str] = ()) -> pd.DataFrame:
    """Return the table with the columns `contender` and `instance_label`, its instances in the order of their settings.

    A contender is a method with its whole sweep. The settings in `split`, e.g. `method.form`, make
    different contenders of one method: `ws` and `ws(form=penalty)`, named by what is not the default.
    """
    accepted = {f"method.{setting}" for method in methods().values() for setting in method.settings}
    for setting in split:
        if setting not in accepted:
            raise unknown("setting in split", setting, accepted)
    if not len(table):
        return table
    names_of = {configuration: found.label for configuration, found in contenders_of(table, split).items()}
    places_of, configurations = pd.factorize(table["configuration"])
    contenders = np.array([names_of[str(name)] for name in configurations], dtype=object)[places_of]
    labels = instance_labels(table)
    numbers, instances = pd.factorize(table["instance"])
    names = np.array([labels[instance] for instance in instances], dtype=object)
    named = table.assign(
        contender=pd.Series(contenders, table.index, dtype=object),
        instance_label=pd.Series(names[numbers], table.index, dtype=object),
    )
    place = {instance: place for place, instance in enumerate(labels)}
    places = np.array([place[instance] for instance in instances])[numbers]
    if (np.diff(places) >= 0).all():  # a copy of many runs takes long
        return named.reset_index(drop=True)
    return named.take(np.argsort(places, kind="stable")).reset_index(drop=True)


def instance_labels(table: pd.DataFrame) -> dict[str, str]:
    """Return a name for every problem instance: the problem, and the settings in which its instances differ."""
    labels: dict[str, str] = {}
    if not len(table):
        return labels
    firsts = table.drop_duplicates("instance")  # an instance has one problem
    names = firsts.drop_duplicates("problem")["problem"].str.partition("@")[0]
    for id_, instances in firsts.groupby("problem", sort=False):
        name = str(id_).partition("@")[0]
        if (names == name).sum() > 1:
            name = str(id_)
        columns = [str(column) for column in instances if str(column).startswith(("problem.", "training."))]
        varied = [column for column in columns if instances[column].map(str).nunique() > 1]
        rows = sorted(instances.to_dict("records"), key=lambda row: [_sortable(row[column]) for column in varied])
        found = {row["instance"]: _label(name, row, varied, spelled) for row in rows}
        if len(set(found.values())) < len(found):  # numbers that differ beyond the digits usually shown
            found = {row["instance"]: _label(name, row, varied, str) for row in rows}
        labels |= found
    return labels


def ordered_contenders(table: pd.DataFrame, listed: Iterable[str]) -> list[str]:
    """Return the contenders in the order in which a suite lists their methods, others after them."""
    order = list(listed)
    found = table.drop_duplicates("contender")[["contender", "method"]].to_dict("records")
    found.sort(key=lambda row: (order.index(row["method"]) if row["method"] in order else len(order), row["contender"]))
    return [str(row["contender"]) for row in found]


def spelled(value: Any) -> str:
    """Return a setting's value as it is written in labels; the values of a list stand between slashes."""
    if isinstance(value, (list, tuple)):
        return "/".join(map(spelled, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _sortable(value: Any) -> tuple[int, Any]:
    """Return what orders values of several kinds: numbers first, then lists, then words, and missing ones last."""
    if isinstance(value, (int, float)):
        return (3, 0) if math.isnan(value) else (0, value)
    return (1, tuple(value)) if isinstance(value, (list, tuple)) else (2, str(value))


def _label(name: str, row: dict[Any, Any], varied: Sequence[str], spell: Callable[[Any], str]) -> str:
    parts = [f"{column.partition('.')[2]}={spell(row[column])}" for column in varied]
    return f"{name}: {', '.join(parts)}" if parts else name


def _contender(row: dict[Any, Any], settings: Sequence[str], known: Mapping[str, type[Method]]) -> Contender:
    declared = known[row["method"]].settings if row["method"] in known else {}
    changed = [
        (name, tuple(value) if isinstance(value, list) else value)
        for name in settings
        # NaN, which is not equal to itself: an implicit setting that the run left at its default
        if name in declared and (value := row[f"method.{name}"]) == value and value != declared[name].default
    ]
    return Contender(str(row["method"]), tuple(changed))
