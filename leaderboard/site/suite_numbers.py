"""Every number of a suite's table: one entry per measure, problem instance and contender."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pandas as pd

from mobench.reporting.sheet import spelled_number
from mobench.scoring.indicators.intervals import interval
from mobench.scoring.indicators.paired import best_and_tied
from mobench.scoring.published import PublishedValue, load_published
from mobench.scoring.results import SuiteResults
from mobench.scoring.select import Sweeps
from mobench.scoring.selected_rows import SelectedRow, selected_frame

from .measures import Measure, measures_of

Key = tuple[str, str]
"""A problem instance and a contender."""


@dataclass(frozen=True)
class Number:
    """One number, with everything that a reader needs to doubt it."""

    values: Mapping[int, float]
    """By seed; empty where the contender failed."""
    best: bool = False
    """Whether it is the best of its column, or cannot be told from it."""
    configuration: str | None = None
    """The id of the configuration it belongs to, None where it belongs to the whole sweep."""
    missing: int = 0
    """How many of the instance's seeds are lacking."""
    published: float | None = None
    source: str = ""
    note: str = ""

    @property
    def failed(self) -> bool:
        """Whether there is no number at all."""
        return not self.values

    @cached_property
    def spread(self) -> tuple[float, float | None, float | None]:
        """Mean over seeds, and the bootstrap interval where there is more than one seed."""
        found = interval(self.values.values())
        return found.mean, found.low, found.high


@dataclass(frozen=True)
class SuiteNumbers:
    """The table of a suite: contenders down, problem instances and measures across."""

    results: SuiteResults
    measures: tuple[Measure, ...]
    instances: Mapping[str, str]
    """Labels of the problem instances, in order."""
    entries: Mapping[tuple[int, str, str], Number] = field(repr=False)
    """By position of the measure, instance and contender; none where the contender did not run."""

    def groups(self) -> Iterator[tuple[Key, pd.DataFrame]]:
        """Yield the runs behind every row and problem instance, as they are asked for: all at once are many."""
        for instance, members in self.results.table.groupby("instance", sort=False):
            for contender, runs in members.groupby("contender", sort=False):
                yield (str(instance), str(contender)), runs

    @cached_property
    def files(self) -> dict[Key, int]:
        """The number of the data file behind every row and problem instance."""
        keys = self.results.table[["instance", "contender"]].drop_duplicates()
        pairs = zip(keys["instance"].map(str), keys["contender"].map(str), strict=True)
        return {key: position for position, key in enumerate(pairs)}

    @cached_property
    def problems(self) -> dict[str, str]:
        """The problem of every instance."""
        first = self.results.table.drop_duplicates("instance")
        return dict(zip(first["instance"], first["problem"], strict=True))


def suite_numbers(results: SuiteResults) -> SuiteNumbers:
    """Compute every number of a suite's table."""
    table = results.table
    first = table.drop_duplicates("instance")
    instances = dict(zip(first["instance"], first["instance_label"], strict=True))
    measures = measures_of(results)
    published = load_published(results.suite.published_tables)
    ranked = table[~table["contender"].isin(results.unranked)] if results.unranked else table
    sweeps = results.sweeps if ranked is table else Sweeps(ranked, "contender")
    entries: dict[tuple[int, str, str], Number] = {}
    for position, measure in enumerate(measures):
        for (instance, contender), entry in _entries(measure, results, sweeps, published).items():
            entries[position, instance, contender] = entry
    kept = [
        position
        for position in range(len(measures))
        if any(not entry.failed for key, entry in entries.items() if key[0] == position)
    ]
    renumbered = {old: new for new, old in enumerate(kept)}
    return SuiteNumbers(
        results,
        tuple(measures[position] for position in kept),
        instances,
        {(renumbered[key[0]], *key[1:]): entry for key, entry in entries.items() if key[0] in renumbered},
    )


def spelled(entry: Number, measure: Measure) -> tuple[str, str]:
    """Return the number and its interval as texts, the interval empty where there is none."""
    if entry.failed:
        return "failed", ""
    mean, low, high = entry.spread
    text = spelled_number(mean / measure.unit, measure.decimals)
    if low is None or high is None:
        return text, ""
    ends = [spelled_number(end / measure.unit, measure.decimals) for end in (low, high)]
    return text, "" if ends == [text, text] else f"[{ends[0]}, {ends[1]}]"


def _entries(
    measure: Measure, results: SuiteResults, ranked_sweeps: Sweeps, published: Sequence[PublishedValue]
) -> dict[Key, Number]:
    if measure.criterion is not None:
        found = _chosen(measure, results.sweeps, published)
        if not results.unranked:
            return found
        best_ones = {key for key, entry in _chosen(measure, ranked_sweeps, published).items() if entry.best}
        return {key: replace(entry, best=key in best_ones) for key, entry in found.items()}
    found = {}
    for instance, members in results.table.groupby("instance", sort=False):
        front = measure.kind == "front"
        values = _front(results, measure, str(instance), members) if front else _sweep_means(members, measure.metric)
        if not any(values.values()):
            continue
        seeds = members["seed"].nunique()
        ranked = {name: by_seed for name, by_seed in values.items() if name not in results.unranked}
        best = best_and_tied(ranked, measure.best) if measure.best else set()
        for contender, by_seed in values.items():
            missing = seeds - len(by_seed)
            found[str(instance), contender] = Number(by_seed, contender in best and not missing, missing=missing)
    return found


def _chosen(measure: Measure, sweeps: Sweeps, published: Sequence[PublishedValue]) -> dict[Key, Number]:
    assert measure.criterion is not None
    row = SelectedRow(measure.label, measure.criterion, measure.unit, measure.decimals)
    table = sweeps.table
    frame = selected_frame([row], table, published, sweeps)
    done = table[table["status"] == "done"]
    values: dict[str, dict[int, float]] = {}
    for configuration, seed, value in zip(done["configuration"], done["seed"], done[measure.metric], strict=True):
        values.setdefault(str(configuration), {})[int(seed)] = float(value)
    return {(line["instance"], line["contender"]): _entry(line, values) for line in frame.to_dict("records")}


def _entry(line: Mapping[Any, Any], values: Mapping[str, Mapping[int, float]]) -> Number:
    configuration = line["configuration"] if isinstance(line["configuration"], str) else None
    by_seed = values.get(configuration, {}) if configuration else {}
    return Number(
        values={seed: value for seed, value in by_seed.items() if math.isfinite(value)},
        best=bool(line["best"]),
        configuration=configuration,
        missing=int(line["missing"]),
        published=None if math.isnan(line["published"]) else float(line["published"]),
        source=line["source"],
        note=line["note"],
    )


def _front(
    results: SuiteResults, measure: Measure, instance: str, members: pd.DataFrame
) -> dict[str, dict[int, float]]:
    """Return the hypervolume by contender and seed; of a contender that never finished there is none."""
    alive = set(members.loc[members["status"] == "done", "contender"])
    form = measure.metric.partition("/")[2]
    named = results.all_volumes.get(instance, {}).get(form, {}) if form else results.volumes.get(instance, {})
    return {name: volumes if name in alive else {} for name, volumes in named.items()}


def _sweep_means(members: pd.DataFrame, metric: str) -> dict[str, dict[int, float]]:
    """Return the mean over a contender's configurations, by seed."""
    found: dict[str, dict[int, float]] = {str(contender): {} for contender in members["contender"].unique()}
    done = members.loc[(members["status"] == "done") & members[metric].notna(), ["contender", "seed", metric]]
    means = done.groupby(["contender", "seed"])[metric].mean()
    for (contender, seed), mean in zip(means.index, means, strict=True):
        found[str(contender)][int(seed)] = float(mean)
    return found
