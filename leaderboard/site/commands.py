"""The command that repeats a number: the same suite and profile, cut down to one problem instance and method."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from mobench.core.registry import find_problem, methods, problems, source_digest
from mobench.core.settings import OF_TRAINING, Configurable
from mobench.errors import UserError
from mobench.planning.suite import Suite, suite_files
from mobench.training.optimizer import Training

Row = Mapping[Any, Any]
"""One line of the results table."""


def reproduce_commands(
    suite: Suite, configurations: Sequence[Row], seeds: Iterable[int], plugins: Sequence[str] = ()
) -> list[str]:
    """Return the commands that run these configurations of one method on one problem instance; usually one.

    Settings are spelled out where the suite names them or where they are not the default. Configurations that
    are all combinations of their settings' values are one sweep; others need a command each. Files of the user's own,
    the suite's and those of `plugins`, are named as seen from the folder in which the site is built.
    """
    wanted = list(seeds)
    varied = _varied(configurations)
    if len(configurations) > 1 and math.prod(len(values) for values in varied.values()) != len(configurations):
        return [_command(suite, row, {}, wanted, plugins) for row in configurations]
    return [_command(suite, configurations[0], varied, wanted, plugins)]


def _command(
    suite: Suite, row: Row, varied: Mapping[str, list[Any]], seeds: Sequence[int], plugins: Sequence[str]
) -> str:
    method, problem = str(row["method"]), str(row["problem"])
    words = [*_suite(suite, problem), f"methods={method}"]
    words += _settings("problems", problem, row, varied, suite.problems, problems())
    words += _settings("methods", method, row, varied, suite.methods, methods())
    words += _training(suite, row)
    words.append(f"seeds={spelled_value([int(seed) for seed in seeds])}")
    foreign = not (_ships(methods().get(method)) and _ships(_problem(problem)))
    if foreign or (plugins and _lists_plugins(suite)):
        words.append(f"plugins={','.join(map(_seen_from_here, plugins)) or 'PLUGIN.py'}")
    return shlex.join(["mobench", "run", *words])


def _suite(suite: Suite, problem: str) -> list[str]:
    """Return the words that name the suite and the problem; a problem may have been run without a suite."""
    if _has_name(suite.name):
        name = suite.name
    elif suite.file:
        name = _seen_from_here(suite.file)
    else:
        return [f"problem={problem}"]
    return [f"suite={name}", f"profile={suite.profile}", f"problems={problem}"]


@cache
def _has_name(suite: str) -> bool:
    """Say whether a suite is known by its name; looking through the folders of suites takes long."""
    return suite in suite_files()


def _ships(plugin: type[Any] | None) -> bool:
    """Say whether a method or problem ships with mobench."""
    return plugin is not None and source_digest(plugin) is None


def _problem(name: str) -> type[Any] | None:
    """Return the problem of that name, with or without a version; None where it is not known here."""
    try:
        return find_problem(name)
    except UserError:
        return None


def _lists_plugins(suite: Suite) -> bool:
    """Say whether a file of the user's own names what only plugins define: it is read whole, whatever is run of it."""
    if _has_name(suite.name) or not suite.file:
        return False
    named = [*map(methods().get, suite.methods), *map(_problem, suite.problems)]
    return not all(map(_ships, named))


def _seen_from_here(path: str) -> str:
    """Return a path relative to the current folder; of one outside of it only the name, since sites are public."""
    file = Path(path).resolve()
    return str(file.relative_to(Path.cwd())) if file.is_relative_to(Path.cwd()) else file.name


def _varied(configurations: Sequence[Row]) -> dict[str, list[Any]]:
    """Return the values of every setting of the method in which the configurations differ."""
    found = {}
    for column in configurations[0]:
        if str(column).startswith("method."):
            values = {json.dumps(row[column], default=str): row[column] for row in configurations}
            if len(values) > 1:
                found[str(column)] = list(values.values())
    return found


def _settings(
    part: str,
    name: str,
    row: Row,
    varied: Mapping[str, list[Any]],
    listed: Mapping[str, Any],
    known: Mapping[str, type[Configurable]],
) -> list[str]:
    prefix = f"{part.removesuffix('s')}."
    entry = listed.get(name, listed.get(name.partition("@")[0], {}))
    named = {setting for variant in (entry if isinstance(entry, list) else [entry or {}]) for setting in variant}
    declared = known[name].settings if name in known else {}
    words = []
    for column in map(str, row):
        setting = column.removeprefix(prefix)
        value = row[column]
        foreign = bool(declared) and setting not in declared and not setting.startswith(OF_TRAINING)
        if not column.startswith(prefix) or foreign or _missing(value):
            continue
        default = declared[setting].default if setting in declared else None
        if column in varied:
            words.append(f"{part}.{name}.{setting}={spelled_value(varied[column])}")
        elif setting in named or value != default:
            nested = isinstance(value, (list, tuple))  # one value per objective stands in a sweep of its own
            words.append(f"{part}.{name}.{setting}={spelled_value([value] if nested else value)}")
    return words


def _training(suite: Suite, row: Row) -> list[str]:
    """Return the training settings in which the run differs from the suite."""
    planned = {f"{OF_TRAINING}{name}": value for name, value in Training(**suite.training).configuration().items()}
    return [
        f"{column}={spelled_value(row[column])}"
        for column in map(str, row)
        if column.startswith(OF_TRAINING) and not _missing(row[column]) and row[column] != planned.get(column)
    ]


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def spelled_value(value: Any) -> str:
    """Return a value as the command line reads it."""
    if isinstance(value, (list, tuple)):
        return f"[{','.join(spelled_value(item) for item in value)}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value if value.replace("-", "").replace("_", "").isalnum() else json.dumps(value)
    return str(value.item() if hasattr(value, "item") else value)
