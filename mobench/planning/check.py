"""Whether what a suite names exists: problems, methods, settings, metrics, columns and plots, before anything runs."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from mobench.core.columns import DELTA, IDENTITY, MEASURED
from mobench.core.method import Method
from mobench.core.problem import Problem
from mobench.core.registry import find_method, find_problem, methods, problems
from mobench.core.settings import Configurable, Setting
from mobench.core.spec import OF_TRAINING
from mobench.errors import UserError, unknown
from mobench.planning.expression import Expression
from mobench.planning.plan import expand, expand_entry
from mobench.planning.published_file import read_published
from mobench.planning.suite import Suite
from mobench.planning.suite_parts import STEP_COLUMNS, PublishedEntry
from mobench.training.optimizer import Training

NOTED = ("diagnostic/", "total/")
"""What stands before the name of a diagnostic that a method notes: its mean over steps, and its sum."""

Name = tuple[str, str, str]
"""What kind of thing is named (a metric, a column, …), where, and by which name."""


def check_entries(suite: Suite) -> None:
    """Refuse problems, methods and settings that do not exist, and values that their settings do not accept."""
    with _at(suite, "training"):
        Training(**suite.training)
    for part, find in (("methods", find_method), ("problems", find_problem)):
        for name, entry in getattr(suite, part).items():
            with _at(suite, f"{part}.{name}"):
                for _, own in expand_entry(find(name), entry):
                    Training(**{**suite.training, **own})


def check_suite(suite: Suite, plots: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse a metric, column or plot that does not exist; `plots` are the options of each plot with their defaults.

    Where a problem or method of the suite is not known here (results are read without its plugin), it cannot be
    told what exists, and only plots are checked.
    """
    known: dict[str, Collection[str]] = {"plot": plots}
    known |= {f"option of plot {name}:": ("plot", "title", "where", *options) for name, options in plots.items()}
    for at, entry in enumerate(suite.plots):
        given = {"plot": entry} if isinstance(entry, str) else entry
        for option, default in plots.get(str(given["plot"]), {}).items():
            if default is inspect.Parameter.empty and option not in given:
                with _at(suite, f"plots[{at}]"):
                    raise UserError(
                        f"the plot {given['plot']} needs {option}, e.g. {{plot: {given['plot']}, {option}: …}}"
                    )
    try:
        solved = [problem for name, entry in suite.problems.items() for problem in expand(find_problem(name), entry)]
        compared = [find_method(name) for name in suite.methods]
    except UserError:
        return _refuse_unknown(suite, known)
    derived = [DELTA.name] if suite.baselines else []
    try:
        _refuse_unknown(suite, known | _vocabulary(solved, compared, derived, list(dict.fromkeys(map(type, solved)))))
    except UserError:  # perhaps a setting of a problem that was added on the line: only now all problems are loaded
        _refuse_unknown(suite, known | _vocabulary(solved, compared, derived, list(problems().values())))


def _refuse_unknown(suite: Suite, known: Mapping[str, Collection[str]]) -> None:
    """Refuse what a suite names and what is not among the known names of its kind."""
    for kind, path, name in _names(suite):
        if kind == "formula":
            with _at(suite, path):
                _read_formula(name, known)
        elif kind in known and name not in known[kind]:
            with _at(suite, path):
                raise unknown(kind, name, known[kind])


@contextmanager
def _at(suite: Suite, path: str) -> Iterator[None]:
    """Say where the mistake stands."""
    try:
        yield
    except UserError as error:
        raise UserError(f"suite {suite.name}, profile {suite.profile}: {path}: {error}") from None


def _vocabulary(
    solved: Sequence[Problem],
    compared: Sequence[type[Method]],
    derived: Sequence[str],
    kinds_of_problems: Sequence[type[Problem]],
) -> dict[str, Collection[str]]:
    """Return the names that exist, by kind; `kinds_of_problems` are those whose settings are columns."""
    owners: dict[str, Sequence[type[Configurable]]] = {
        "problem": kinds_of_problems,
        "method": [*methods().values()],
        "training": [Training],
    }
    declared: dict[str, list[Setting]] = {}
    for name, setting in Training.settings.items():
        declared[f"method.{OF_TRAINING}{name}"] = [setting]
    for part, kinds in owners.items():
        for name, setting in (item for kind in kinds for item in kind.settings.items()):
            declared.setdefault(f"{part}.{name}", []).append(setting)
    found: dict[str, Collection[str]] = {
        "column": {*IDENTITY, *(metric.name for metric in MEASURED), *declared},
        "setting to split by": [name for name in declared if name.startswith("method.")],
        "value for method:": methods(),
        "value for problem:": problems(),
    }
    for column, settings in declared.items():
        if all(setting.choices for setting in settings):
            found[f"value for {column}:"] = {word for setting in settings for word in setting.choices}
    measured = [metric.name for problem in solved for metric in (*problem.metrics(), *MEASURED)]
    noted = [f"{kind}{metric.name}" for method in compared for metric in method.diagnostics for kind in NOTED]
    found["metric"] = {*measured, *noted, *derived}
    found["column"] = {*found["column"], *found["metric"]}
    volumes = {f"hypervolume/{volume.name}" for problem in solved for volume in problem.hypervolumes()}
    found["published metric"] = {*found["metric"], *volumes, "hypervolume/paper"}
    return found


def _names(suite: Suite) -> Iterator[Name]:
    """Yield everything that a suite's tables, rows and plots name."""
    yield from (("metric", f"metrics[{at}]", name) for at, name in enumerate(suite.metrics))
    yield from (("setting to split by", f"split[{at}]", name) for at, name in enumerate(suite.split))
    for metric, where in suite.baselines.items():
        yield "metric", f"baselines.{metric}", metric
        yield from _where(f"baselines.{metric}", where)
    for at, table in enumerate(suite.tables):
        yield "metric", f"tables[{at}].value", table.value
        yield "column", f"tables[{at}].columns", table.columns
        yield "column", f"tables[{at}].rows", table.rows
        yield from _where(f"tables[{at}].where", table.where)
    for at, row in enumerate(suite.published):
        yield from _quantity_names(f"published[{at}]", row)
    for at, claim in enumerate(suite.claims):
        yield "formula", f"claims[{at}].measured", claim.measured
        yield "formula", f"claims[{at}].bound", str(claim.bound)
        yield from _where(f"claims[{at}].where", claim.where)
    for at, chosen in enumerate(suite.selected):
        for key in ("value", "select", "select_test", "against_value"):
            yield "metric", f"selected[{at}].{key}", getattr(chosen, key) or chosen.value
        for method, settings in chosen.fixed.items():
            fixed = {"method": method, **{f"method.{name}": value for name, value in settings.items()}}
            yield from _where(f"selected[{at}].fixed.{method}", fixed)
    for at, file in enumerate(suite.published_tables):
        yield from _published_names(f"published_tables[{at}]", file)
    for at, entry in enumerate(suite.plots):
        yield from _plot_names(f"plots[{at}]", {"plot": entry} if isinstance(entry, str) else dict(entry))


def _plot_names(path: str, entry: dict[str, Any]) -> Iterator[Name]:
    plot = entry["plot"]
    yield "plot", path, plot
    yield from ((f"option of plot {plot}:", path, option) for option in entry)
    yield from _where(f"{path}.where", entry.get("where", {}))
    if isinstance(entry.get("setting"), str):
        yield "column", f"{path}.setting", entry["setting"]
    if isinstance(entry.get("law"), str):
        yield "formula", f"{path}.law", entry["law"]
    for option in ("value", "values", "select"):
        given = entry.get(option, [])
        for metric in given if isinstance(given, list) else [given]:
            yield "metric", f"{path}.{option}", str(metric)


def _quantity_names(path: str, row: PublishedEntry) -> Iterator[Name]:
    yield "published metric", f"{path}.value", row.value
    yield "metric", f"{path}.per", row.per or "seconds"
    yield "column", f"{path}.by", row.by or "seed"
    yield from _where(f"{path}.where", row.where)


def _published_names(path: str, file: str) -> Iterator[Name]:
    read = read_published(file)
    for at, row in enumerate(read.quantities):
        yield from _quantity_names(f"{path} ({file}): quantities[{at}]", row)
    for at, table in enumerate(read.tables):
        for number, instance in enumerate(table.instances):
            inside = f"{path} ({file}): tables[{at}].instances[{number}]"
            for metric, where, _ in table.cells(instance):
                yield "metric", inside, metric
                yield from _where(inside, where)


def _read_formula(text: str, known: Mapping[str, Collection[str]]) -> None:
    """Refuse a formula that cannot be read, or that reads a column which does not exist."""
    for column in Expression(text).columns:
        if "column" in known and column not in (*known["column"], *STEP_COLUMNS):
            raise unknown("column", column, known["column"])


def _where(path: str, where: Mapping[str, Any]) -> Iterator[Name]:
    for column, wanted in where.items():
        yield "column", path, column
        for value in wanted if isinstance(wanted, list) else [wanted]:
            if isinstance(value, str):
                yield f"value for {column}:", path, value
