"""Every number of a suite's table: one entry per measure, problem instance and contender."""

from __future__ import annotations

import pandas as pd

from mobench.reporting.format import number
from mobench.scoring.indicators.paired import best_and_tied
from mobench.scoring.results import SuiteResults
from mobench.scoring.select import Indicator
from mobench.scoring.tables import Column

from .measures import measures_of
from .old_tables import Key, Measure, Number, SuiteNumbers


def suite_numbers(results: SuiteResults) -> SuiteNumbers:
    """Compute every number of a suite's table."""
    table = results.table
    first = table.drop_duplicates("instance")
    instances = dict(zip(first["instance"], first["instance_label"], strict=True))
    measures = measures_of(results)
    entries: dict[tuple[int, str, str], Number] = {}
    for position, measure in enumerate(measures):
        for (instance, contender), entry in _entries(measure, results).items():
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
    text = number(mean / measure.unit, decimals=measure.decimals)
    if low is None or high is None:
        return text, ""
    ends = [number(end / measure.unit, decimals=measure.decimals) for end in (low, high)]
    return text, "" if ends == [text, text] else f"[{ends[0]}, {ends[1]}]"


def _entries(measure: Measure, results: SuiteResults) -> dict[Key, Number]:
    if measure.criterion is not None:
        return _chosen(measure, results)
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


def _chosen(measure: Measure, results: SuiteResults) -> dict[Key, Number]:
    assert measure.criterion is not None
    column = Column(measure.label, measure.label, measure.metric, measure.best, measure.unit, decimals=measure.decimals)
    found: dict[Key, Number] = {}
    for instance, estimates in results.estimates(Indicator(column, measure.criterion)).items():
        ranked = {name: one for name, one in estimates.items() if name not in results.unranked}
        whole = {name: one.values for name, one in ranked.items() if not one.missing}
        best = best_and_tied(whole, measure.criterion.best)
        for name, one in estimates.items():
            published = one.published
            found[instance, name] = Number(
                one.values,
                name in best,
                one.configuration,
                one.missing,
                None if published is None else published.value,
                "" if published is None else published.source,
                "" if published is None else published.note,
            )
    return found


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
