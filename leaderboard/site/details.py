"""What opens behind a number: its value at every seed, the points of the sweep, and the commands that repeat it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from mobench.scoring.contender import spelled as spelled_setting
from mobench.scoring.indicators.intervals import interval
from mobench.scoring.select import first_of_each, swept_settings

from .commands import reproduce_commands
from .names import file_stem
from .old_tables import Number, SuiteNumbers
from .reading import stem_of
from .suite_numbers import spelled

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
    firsts = first_of_each(runs)
    labels = _labels(firsts)
    places = {name: place for place, name in enumerate(labels)}
    seeds = sorted(int(seed) for seed in runs["seed"].unique())
    columns = {name: runs[name].tolist() for name in ("seed", "configuration", "id", "status", "error")}
    return {
        "contender": contender,
        "instance": numbers.instances[instance],
        "suite": numbers.results.suite.name,
        "profile": numbers.results.profile,
        "suite_page": f"suites/{stem_of(numbers.results)}.html",
        "method_page": f"methods/{file_stem(numbers.results.methods[contender])}.html",
        "runs": [
            {
                "seed": int(seed),
                "configuration": places[str(configuration)],
                "id": id_[:12],
                "status": status,
                **({"error": _reason(error)} if status != "done" else {}),
            }
            for seed, configuration, id_, status, error in zip(*columns.values(), strict=True)
        ],
        "configurations": _points(runs, labels, needed),
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


def _labels(firsts: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Name every configuration by the settings in which the sweep's configurations differ."""
    varied = swept_settings(firsts.values())
    found = {}
    for name, row in firsts.items():
        parts = [f"{setting.removeprefix('method.')}={spelled_setting(row[setting])}" for setting in varied]
        found[name] = ", ".join(parts) or str(row["method_label"])
    return found


def _points(runs: pd.DataFrame, labels: Mapping[str, str], metrics: Iterable[str]) -> list[dict[str, Any]]:
    """Return every configuration with what its finished runs reached."""
    places: dict[str, list[int]] = {name: [] for name in labels}
    failed = dict.fromkeys(labels, 0)
    for place, (name, status) in enumerate(zip(runs["configuration"], runs["status"], strict=True)):
        if status == "done":
            places[str(name)].append(place)
        else:
            failed[str(name)] += 1
    values = {metric: runs[metric].to_numpy(dtype=np.float64) for metric in metrics}
    return [
        {
            "label": label,
            "n": len(places[name]),
            "failed": failed[name],
            "points": {metric: found for metric in values if (found := _point(values[metric][places[name]]))},
        }
        for name, label in labels.items()
    ]


def _point(values: npt.NDArray[np.float64]) -> list[float | None]:
    """Return mean and interval of the finite values; nothing where there are none."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return []
    found = interval(finite)
    return [found.mean, found.low, found.high]


def _reason(error: Any) -> str:
    lines = str(error or "").strip().splitlines()
    return lines[-1].strip()[:SHOWN_ERROR] if lines else "no reason was stored"
