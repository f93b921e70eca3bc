"""The numbers that a suite's table can show: what is measured, which way it is better, how one is chosen of a sweep."""

from __future__ import annotations

from dataclasses import dataclass

from mobench.core.metric import Direction, Metric
from mobench.scoring.results import SuiteResults
from mobench.scoring.select import Criterion
from mobench.scoring.selection_words import how_selected

HYPERVOLUME = "hypervolume"

EXPLANATIONS = {
    "best": "the best configuration of the sweep; chosen on the number shown, so a longer sweep has an advantage",
    "mean": "the mean over the sweep; neither direction is better",
}
"""How many configurations become one number."""


@dataclass(frozen=True)
class Measure:
    """One number per method and problem instance."""

    label: str
    metric: str
    kind: str
    """`selected`, `front`, or a key of `EXPLANATIONS`."""
    best: Direction | None
    criterion: Criterion | None = None
    """How the configuration is chosen, where one is."""
    unit: float = 1.0
    decimals: int | None = None
    selection: str = ""
    """How a configuration was selected, where one was; of a front, what the problem says of its volume."""

    @property
    def how(self) -> str:
        """How many configurations become one number."""
        return self.selection or EXPLANATIONS[self.kind]


def measures_of(results: SuiteResults) -> list[Measure]:
    """Return what the suite's table shows: first what it is ranked by, then what it selects, then its metrics."""
    table = results.table
    chosen = [
        Measure(
            row.key,
            row.criterion.value,
            "selected",
            row.criterion.best,
            row.criterion,
            row.unit,
            row.decimals,
            _selection(results, row.criterion),
        )
        for row in results.selected_rows
        if row.criterion.metrics <= set(table.columns) and not row.criterion.against
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


def _selection(results: SuiteResults, criterion: Criterion) -> str:
    """Say how the criterion selected, for each problem instance where that differs."""
    found: dict[str, None] = {}
    for instance, runs in results.table.groupby("instance", sort=False):
        tried = int(runs.groupby("contender")["configuration"].nunique().max())
        found[how_selected([criterion], results.problems[str(instance)], tried)] = None
    return "; or ".join(found)


def _plain(metric: Metric) -> Measure:
    if metric.better is None:
        return Measure(metric.heading, metric.name, "mean", None)
    criterion = Criterion(metric.name, metric.name, metric.better, metric.better)
    return Measure(metric.heading, metric.name, "best", metric.better, criterion)
