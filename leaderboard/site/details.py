"""What opens behind a number: its value at every seed, the points of the sweep, and the commands that repeat it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from mobench.scoring.contenders import spelled as spelled_setting
from mobench.scoring.indicators.intervals import interval

from .commands import reproduce_commands
from .suite_numbers import Number, SuiteNumbers, spelled

SHOWN_ERROR = 400
"""How much of an error is shown; the downloads hold all of it."""


def details(numbers: SuiteNumbers) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield, for every problem instance and contender, what its numbers open to."""
    for (instance, contender), runs in numbers.groups():
        found = {
            position: numbers.entries[position, instance, contender]
            for position in range(len(numbers.measures))
            if (position, instance, contender) in numbers.entries
        }
        if found:
            yield instance, contender, _detail(numbers, instance, contender, runs, found)


def _detail(
    numbers: SuiteNumbers, instance: str, contender: str, runs: pd.DataFrame, found: Mapping[int, Number]
) -> dict[str, Any]:
    metrics = {position: _metrics(numbers, position, instance, runs) for position in found}
    needed = list(dict.fromkeys(metric for several in metrics.values() for metric in several))
    labels = _labels(runs)
    places = {name: place for place, name in enumerate(labels)}
    firsts = {str(row["configuration"]): row for row in _firsts(runs).to_dict("records")}
    seeds = sorted(int(seed) for seed in runs["seed"].unique())
    return {
        "contender": contender,
        "instance": numbers.instances[instance],
        "suite": numbers.results.suite.name,
        "profile": numbers.results.profile,
        "runs": [
            {
                "seed": int(run["seed"]),
                "configuration": places[run["configuration"]],
                "id": run["id"][:12],
                "status": run["status"],
                **({"error": _reason(run["error"])} if run["status"] != "done" else {}),
            }
            for run in runs[["seed", "configuration", "id", "status", "error"]].to_dict("records")
        ],
        "configurations": [
            {"label": labels[str(name)], **_points(part, needed)}
            for name, part in runs[["configuration", "status", *needed]].groupby("configuration", sort=False)
        ],
        "measures": {
            str(position): _measure(numbers, position, entry, metrics[position])
            | {
                "configuration": None if entry.configuration is None else places[entry.configuration],
                "commands": reproduce_commands(
                    numbers.results.suite, _rows(entry, firsts), seeds, numbers.results.plugins
                ),
            }
            for position, entry in found.items()
        },
    }


def _measure(numbers: SuiteNumbers, position: int, entry: Number, metrics: list[str]) -> dict[str, Any]:
    measure = numbers.measures[position]
    mean, ends = spelled(entry, measure)
    published = None if entry.published is None else entry.published / measure.unit
    return {
        "label": measure.label,
        "metric": measure.metric,
        "unit": measure.unit,
        "how": measure.how,
        "text": f"{mean} {ends}".strip(),
        "missing": entry.missing,
        "values": [[seed, value / measure.unit] for seed, value in sorted(entry.values.items())],
        "columns": metrics,
        "published": published,
        "source": entry.source,
        "note": entry.note,
    }


def _metrics(numbers: SuiteNumbers, position: int, instance: str, runs: pd.DataFrame) -> list[str]:
    """Return the columns that the sweep's points are shown in."""
    measure = numbers.measures[position]
    if measure.kind == "front":
        form = measure.metric.partition("/")[2]
        declared = numbers.results.problems[instance].hypervolumes()
        read = (volume.metrics() for volume in declared if volume.name == (form or declared[0].name))
        return [metric for names in read for metric in names if metric in runs]
    chooser = [] if measure.criterion is None else [measure.criterion.select]
    return list(dict.fromkeys([measure.metric, *chooser]))


def _rows(entry: Number, firsts: Mapping[str, Mapping[Any, Any]]) -> list[Mapping[Any, Any]]:
    if entry.configuration is not None:
        return [firsts[entry.configuration]]
    return list(firsts.values())


def _firsts(runs: pd.DataFrame) -> pd.DataFrame:
    """Return one run of every configuration, without the columns that none of them has: settings of other methods."""
    return runs[~runs["configuration"].duplicated()].dropna(axis=1, how="all")


def _labels(runs: pd.DataFrame) -> dict[str, str]:
    """Name every configuration by the settings in which the sweep's configurations differ."""
    firsts = _firsts(runs)
    settings = [str(column) for column in firsts if str(column).startswith("method.")]
    varied = [column for column in settings if firsts[column].map(str).nunique() > 1]
    found = {}
    for row in firsts.to_dict("records"):
        parts = [f"{name.removeprefix('method.')}={spelled_setting(row[name])}" for name in varied]
        found[str(row["configuration"])] = ", ".join(parts) or str(row["method_label"])
    return found


def _points(runs: pd.DataFrame, metrics: Iterable[str]) -> dict[str, Any]:
    done = runs[runs["status"] == "done"]
    points = {}
    for metric in metrics:
        values = [value for value in done[metric].astype(float) if math.isfinite(value)]
        if values:
            found = interval(values)
            points[metric] = [found.mean, found.low, found.high]
    return {"n": len(done), "failed": len(runs) - len(done), "points": points}


def _reason(error: Any) -> str:
    lines = str(error or "").strip().splitlines()
    return lines[-1].strip()[:SHOWN_ERROR] if lines else "no reason was stored"
