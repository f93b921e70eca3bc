"""The numbers that a suite's table can show: what is measured, which way it is better, how one is chosen of a sweep."""

from __future__ import annotations

from mobench.core.metric import Metric
from mobench.reporting.notes import how_selected
from mobench.scoring.results import SuiteResults
from mobench.scoring.select import Criterion, Indicator
from mobench.scoring.suite_tables import selection_note

from .old_tables import Measure

HYPERVOLUME = "hypervolume"


def measures_of(results: SuiteResults) -> list[Measure]:
    """Return what the suite's table shows: first what it is ranked by, then what it selects, then its metrics."""
    table = results.table
    chosen = [
        Measure(
            each.key,
            each.criterion.value,
            "selected",
            each.criterion.best,
            each.criterion,
            each.column.unit,
            each.column.decimals,
            _selection(results, each),
        )
        for each in results.indicators
        if each.criterion and each.criterion.metrics <= set(table.columns) and not each.criterion.against
    ]
    ranking, beside = (fronts := _fronts(results))[:1], fronts[1:]
    shown = {measure.metric for measure in chosen}
    plain = [
        _plain(results.metrics[metric]) for metric in results.suite.metrics if metric not in shown and metric in table
    ]
    return ranking + chosen + beside + plain if chosen else ranking + plain + beside


def _fronts(results: SuiteResults) -> list[Measure]:
    """Return the hypervolume that ranks, and by name those beside it, explained by what the problems say of them."""
    meanings: dict[str, dict[str, None]] = {}
    for instance in results.all_volumes:
        ranking, *beside = results.problems[instance].hypervolumes()
        meanings.setdefault("", {})[ranking.meaning] = None
        for volume in beside:
            meanings.setdefault(volume.name, {})[volume.meaning] = None
    return [
        Measure(
            f"{HYPERVOLUME}, {name}" if name else HYPERVOLUME,
            f"{HYPERVOLUME}/{name}" if name else HYPERVOLUME,
            "front",
            "max",
            decimals=3,
            selection="; or ".join(said),
        )
        for name, said in meanings.items()
    ]


def _selection(results: SuiteResults, indicator: Indicator) -> str:
    """Say how the criterion selected, for each problem instance where that differs."""
    found: dict[str, None] = {}
    for instance, runs in results.table.groupby("instance", sort=False):
        tried = int(runs.groupby("contender")["configuration"].nunique().max())
        found[how_selected(*selection_note([indicator], results.problems[str(instance)], tried).values)] = None
    return "; or ".join(found)


def _plain(metric: Metric) -> Measure:
    if metric.better is None:
        return Measure(metric.heading, metric.name, "mean", None)
    criterion = Criterion(metric.name, metric.name, metric.better, metric.better)
    return Measure(metric.heading, metric.name, "best", metric.better, criterion)
