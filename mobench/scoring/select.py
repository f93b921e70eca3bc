"""Selection: one configuration of each method's sweep, chosen on one metric and reported on another.

For every problem instance and method, the configuration with the best mean over seeds of the
`select` metric (measured on validation data) is chosen, and the `value` metric (measured on test
data) of that configuration is reported. With `select` = `value` this is selection on the test data.

- A configuration that lacks a seed of the instance (failed there, or not run yet) ranks below all
  configurations that have every seed; among those that lack some, fewer missing seeds rank higher.
- A method without any finished run stays in the table: it has failed, with n = 0.
- The best method and all that the seeds cannot tell from it are marked. Values are paired by seed and
  compared by a t-interval of their differences: unlike the bootstrap it keeps its level at three seeds.
  With fewer seeds nothing is marked. A method whose chosen configuration lacks a seed is never marked, so
  that no method gains by failing on hard seeds.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from mobench.core.metric import Direction
from mobench.errors import unknown
from mobench.planning.suite import Suite
from mobench.planning.suite_parts import SelectedEntry
from mobench.scoring.contender import spelled
from mobench.scoring.indicators.paired import best_and_tied
from mobench.scoring.tables import Column, Estimate

SELECTIONS = ("validation", "test")
"""What configurations are selected on; `test` is the paper's way."""


@dataclass(frozen=True)
class Criterion:
    """Which metric chooses, which is reported, and which way each is better."""

    value: str
    select: str
    best: Direction = "max"
    select_best: Direction = "max"
    fixed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Methods that are not selected but shown at given settings, e.g. `{pcd: {tau: 0.02}}`."""
    against: str = ""
    """The contender that the value is subtracted from, seed by seed; empty: the value itself is reported."""
    against_value: str = ""
    """The metric of that contender."""

    @property
    def metrics(self) -> set[str]:
        """The metrics that a run must have."""
        return {self.value, self.select} | ({self.against_value} if self.against else set())

    def candidates(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Return the runs that may be chosen."""
        return runs[self.is_candidate(runs)] if self.fixed else runs

    def is_candidate(self, runs: pd.DataFrame) -> npt.NDArray[np.bool_]:
        """Say of every run whether it may be chosen: all, or those at the settings that are fixed for their method."""
        kept = pd.Series(True, index=runs.index)
        for method, settings in self.fixed.items():
            matches = runs["method"] == method
            for setting, value in settings.items():
                column = f"method.{setting}"
                matches &= runs[column] == value if column in runs else False
            kept &= matches | (runs["method"] != method)
        return kept.to_numpy(dtype=np.bool_)


@dataclass(frozen=True)
class Indicator:
    """A number for every contender on every instance: its column, and how a configuration is chosen for it."""

    column: Column
    criterion: Criterion | None = None
    """None for the hypervolume of all configurations."""
    table: str = ""
    """The title of its table, empty for the suite's main one."""

    @property
    def key(self) -> str:
        """What tells it from the indicators of all tables."""
        return f"{self.table}: {self.column.label}" if self.table else self.column.label


def selected_indicators(suite: Suite, selection: str = "validation") -> tuple[Indicator, ...]:
    """Return the indicators that the suite asks for, selecting on validation or on test data."""
    if selection not in SELECTIONS:
        raise unknown("value for selection:", selection, SELECTIONS)
    return tuple(_indicator(entry, selection) for entry in suite.selected)


def _indicator(entry: SelectedEntry, selection: str) -> Indicator:
    chooser = entry.select if selection == "validation" else entry.select_test or entry.value
    against = entry.against_value or entry.value if entry.against else ""
    best = entry.select_best or entry.best
    criterion = Criterion(entry.value, chooser, entry.best, best, entry.fixed, entry.against, against)
    column = Column(entry.label, entry.label, entry.value, entry.best, entry.unit, entry.decimals)
    return Indicator(column, criterion, entry.table)


class Sweeps:
    """The runs of each method (or another column `by`) on each problem instance, to choose from by several criteria.

    What criteria have in common is read of the table once. The table may not be changed meanwhile.
    """

    def __init__(self, table: pd.DataFrame, by: str = "method") -> None:
        self.table = table
        self._by = by
        self._places: dict[str, dict[str, list[int]]] = {}
        for place, (instance, name) in enumerate(zip(table["instance"], table[by], strict=True)):
            self._places.setdefault(instance, {}).setdefault(name, []).append(place)
        self._configurations = [str(name) for name in table["configuration"]]
        self._seeds = [int(seed) for seed in table["seed"]]
        self._done: npt.NDArray[np.bool_] = (table["status"] == "done").to_numpy(dtype=np.bool_)
        self._columns: dict[str, npt.NDArray[np.float64]] = {}

    def selected(self, criterion: Criterion) -> pd.DataFrame:
        """Return one row per problem instance and method (or another column `by`).

        Columns: `instance`, `by`, `configuration`, `chosen` (its settings), `score`, `tried` configurations,
        `runs` and `failed` of the whole sweep, `missing` seeds of the chosen one; `mean`, `sd`, `low`, `high`
        and `n` of the reported metric, NaN where undefined; `best`, true for the best and its ties.
        Instances in which no finished run has the metrics are left out.
        """
        rows: list[dict[str, Any]] = []
        for instance, chosen in self.chosen(criterion).items():
            whole = {name: found.values for name, found in chosen.items() if not found.missing}
            marked = best_and_tied(whole, criterion.best)
            for name, found in chosen.items():
                rows.append({"instance": instance, self._by: name, **_columns(found), "best": name in marked})
        return pd.DataFrame(rows)

    def chosen(self, criterion: Criterion) -> dict[str, dict[str, Estimate]]:
        """Return what is chosen, by problem instance and method; instances without the metrics are left out."""
        self._check(criterion)
        usable, candidate = self._usable(criterion), criterion.is_candidate(self.table)
        found = {}
        for instance, sweeps in self._places.items():
            members = [place for places in sweeps.values() for place in places]
            if self._done[members].any() and not usable[members].any():
                continue
            seeds = len({self._seeds[place] for place in members})
            chosen = {
                name: self._choose([place for place in places if candidate[place]], usable, criterion, seeds)
                for name, places in sweeps.items()
            }
            if criterion.against:
                base = self._baseline(
                    [place for place in sweeps.get(criterion.against, ()) if usable[place]], criterion
                )
                chosen = {name: _below(base, one) for name, one in chosen.items()}
            found[instance] = chosen
        return found

    def _choose(
        self, places: Sequence[int], usable: npt.NDArray[np.bool_], criterion: Criterion, seeds: int
    ) -> Estimate:
        """Choose among one method's runs on one instance, whose methods ran on so many seeds."""
        configurations = [self._configurations[place] for place in places]
        tried, failed = len(set(configurations)), len(places) - int(self._done[places].sum())
        numbers = self._numbers(criterion.select)
        scores: dict[str, list[float]] = {}
        for place, name in zip(places, configurations, strict=True):
            if usable[place]:
                scores.setdefault(name, []).append(numbers[place])
        if not scores:
            return Estimate(missing=seeds, tried=tried, runs=len(places), failed=failed)
        sign = 1.0 if criterion.select_best == "max" else -1.0
        missing, score, label, configuration = min(
            (seeds - len(found), -sign * float(np.mean(found)), self._labels[name], name)
            for name, found in scores.items()
        )
        reported = self._numbers(criterion.value)
        chosen = [place for place in places if usable[place] and self._configurations[place] == configuration]
        values = {self._seeds[place]: float(reported[place]) for place in chosen}
        return Estimate(values, configuration, label, -sign * score, missing, tried, len(places), failed)

    @cached_property
    def _labels(self) -> dict[str, str]:
        """How each configuration differs from the others of its sweep."""
        settings = [str(name) for name in self.table if str(name).startswith("method.")]
        firsts = first_of_each(self.table[["configuration", "method_label", *settings]])
        labels: dict[str, str] = {}
        for sweeps in self._places.values():
            for places in sweeps.values():
                own = {name: firsts[name] for name in dict.fromkeys(self._configurations[place] for place in places)}
                swept = swept_settings(own.values()) if len(own) > 1 else []
                labels |= {name: _settings(row, swept) for name, row in own.items()}
        return labels

    def _check(self, criterion: Criterion) -> None:
        """Refuse a metric that no finished run has; where no run finished there are no metrics at all."""
        for metric in criterion.metrics - set(self.table.columns):
            if self._done.any():
                raise unknown("metric", metric, (str(column) for column in self.table.columns))

    def _usable(self, criterion: Criterion) -> npt.NDArray[np.bool_]:
        """Say of every run whether it finished and has the metrics."""
        kept = self._done
        for metric in criterion.metrics:
            kept = kept & np.isfinite(self._numbers(metric))
        return kept

    def _baseline(self, places: Sequence[int], criterion: Criterion) -> dict[int, float]:
        """Return what others are subtracted from: by seed, the mean over the finished runs."""
        runs = self.table.iloc[list(places)]
        means = runs.groupby("seed")[criterion.against_value].mean()
        return {int(seed): float(value) for seed, value in zip(means.index, means, strict=True)}

    def _numbers(self, metric: str) -> npt.NDArray[np.float64]:
        """Return a column as numbers; of a metric that no run has, NaN."""
        if metric not in self._columns:
            known = metric in self.table
            column = self.table[metric].to_numpy(dtype=np.float64) if known else np.full(len(self.table), math.nan)
            self._columns[metric] = column
        return self._columns[metric]


def selection_columns(table: pd.DataFrame, criterion: Criterion | None, *others: str) -> list[str]:
    """Return the columns that `Sweeps` reads, and some others: a row of all columns takes long to copy."""
    metrics = criterion.metrics if criterion else set()
    read = {"seed", "status", "configuration", "method", "method_label", *metrics, *others}
    return [str(name) for name in table if name in read or str(name).startswith("method.")]


def _below(base: Mapping[int, float], found: Estimate) -> Estimate:
    """Return how far the values lie below the baseline; a seed that the baseline lacks is missing."""
    values = {seed: base[seed] - value for seed, value in found.values.items() if seed in base}
    return replace(found, values=values, missing=found.missing + len(found.values) - len(values))


def first_of_each(runs: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return, by configuration, its first run; a column that no configuration has is left out.

    Most settings are other methods'.
    """
    places: dict[str, int] = {}
    for place, name in enumerate(runs["configuration"].tolist()):
        places.setdefault(str(name), place)
    names = [str(name) for name in runs]
    rows = runs.iloc[list(places.values())].to_numpy(dtype=object).tolist()
    kept = [any(map(_is_there, values)) for values in zip(*rows, strict=True)]
    return {
        configuration: {name: value for name, value, keep in zip(names, row, kept, strict=True) if keep}
        for configuration, row in zip(places, rows, strict=True)
    }


def swept_settings(firsts: Collection[Mapping[str, Any]]) -> list[str]:
    """Return the settings in which configurations differ, each given by its first run."""
    settings = [name for name in next(iter(firsts), {}) if name.startswith("method.")]
    found = []
    for name in settings:
        values = [row[name] for row in firsts]
        if any(map(_is_there, values)) and len({str(value) for value in values}) > 1:
            found.append(name)
    return found


def _is_there(value: Any) -> bool:
    return value is not None and bool(value == value)


def _settings(run: Mapping[str, Any], swept: list[str]) -> str:
    """Return how the configuration of this run differs from the others of its sweep."""
    if not swept:
        return str(run["method_label"]).partition("(")[2].removesuffix(")") or "default"
    return ", ".join(f"{column.removeprefix('method.')}={spelled(run[column])}" for column in swept)


def _columns(found: Estimate) -> dict[str, Any]:
    numbers = found.interval
    spread = {name: getattr(numbers, name, None) for name in ("mean", "sd", "low", "high")}
    return {
        "configuration": found.configuration,
        "chosen": found.settings,
        "score": found.score,
        "tried": found.tried,
        "runs": found.runs,
        "failed": found.failed,
        "missing": found.missing,
        **{name: math.nan if value is None else value for name, value in spread.items()},
        "n": len(found.values),
    }
