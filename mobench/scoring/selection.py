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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from mobench.core.metric import Direction
from mobench.errors import unknown
from mobench.planning.suite import Suite
from mobench.planning.suite_parts import SelectedEntry
from mobench.scoring.contenders import spelled
from mobench.scoring.indicators.intervals import LEVEL, interval
from mobench.scoring.published import PublishedValue, find_published

FEWEST_SEEDS = 3
"""With fewer seeds the data cannot tell methods apart, and no best one is marked."""
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
        """Return the runs that may be chosen: all, or those at the settings that are fixed for their method."""
        if not self.fixed:
            return runs
        kept = pd.Series(True, index=runs.index)
        for method, settings in self.fixed.items():
            matches = runs["method"] == method
            for setting, value in settings.items():
                column = f"method.{setting}"
                matches &= runs[column] == value if column in runs else False
            kept &= matches | (runs["method"] != method)
        return runs[kept]


@dataclass(frozen=True)
class Selected:
    """The chosen configuration of one method on one problem instance."""

    configuration: str | None
    """The id of the configuration; None where no run finished."""
    label: str
    """The settings that were swept, or else those that differ from their defaults."""
    values: Mapping[int, float]
    """The reported metric by seed."""
    score: float
    """The mean over seeds of the metric that chose."""
    tried: int
    runs: int
    failed: int
    missing: int
    """How many of the instance's seeds the chosen configuration lacks."""


def selected_configurations(table: pd.DataFrame, criterion: Criterion, by: str = "method") -> pd.DataFrame:
    """Return one row per problem instance and method (or another column `by`).

    Columns: `instance`, `by`, `configuration`, `chosen` (its settings), `score`, `tried` configurations,
    `runs` and `failed` of the whole sweep, `missing` seeds of the chosen one; `mean`, `sd`, `low`, `high`
    and `n` of the reported metric, NaN where undefined; `best`, true for the best and its ties.
    Instances in which no finished run has the metrics are left out.
    """
    table = _with_metrics(table, criterion)
    table = table[selection_columns(table, criterion, "instance", by)]
    rows: list[dict[str, Any]] = []
    for instance, members in table.groupby("instance", sort=False):
        done = members[members["status"] == "done"]
        if len(done) and not len(_usable(done, criterion)):
            continue
        chosen = {name: choose(runs, criterion, members["seed"]) for name, runs in members.groupby(by, sort=False)}
        if criterion.against:
            base = _baseline(members[members[by] == criterion.against], criterion)
            chosen = {name: _below(base, found) for name, found in chosen.items()}
        whole = {name: found.values for name, found in chosen.items() if not found.missing}
        marked = best_and_tied(whole, criterion.best)
        for name, found in chosen.items():
            rows.append({"instance": instance, by: name, **_columns(found), "best": name in marked})
    return pd.DataFrame(rows)


def selection_columns(table: pd.DataFrame, criterion: Criterion | None, *others: str) -> list[str]:
    """Return the columns that `choose` reads, and some others: a row of all columns takes long to copy."""
    metrics = criterion.metrics if criterion else set()
    read = {"seed", "status", "configuration", "method", "method_label", *metrics, *others}
    return [str(name) for name in table if name in read or str(name).startswith("method.")]


def choose(runs: pd.DataFrame, criterion: Criterion, seeds: pd.Series[int]) -> Selected:
    """Choose among one method's runs on one instance, whose methods ran on `seeds`."""
    candidates = criterion.candidates(runs)
    wanted = seeds.nunique()
    configurations = [str(name) for name in candidates["configuration"].tolist()]
    usable = np.flatnonzero(_is_usable(candidates, criterion)).tolist()
    counts = {
        "tried": len(set(configurations)),
        "runs": len(configurations),
        "failed": int((candidates["status"] != "done").sum()),
    }
    scores: dict[str, list[float]] = {}
    numbers = candidates[criterion.select].to_numpy(dtype=np.float64).tolist()
    for place in usable:
        scores.setdefault(configurations[place], []).append(numbers[place])
    if not scores:
        return Selected(None, "", {}, math.nan, missing=wanted, **counts)
    settings = _settings_of_each(runs)
    sign = 1.0 if criterion.select_best == "max" else -1.0
    missing, score, label, configuration = min(
        (wanted - len(found), -sign * float(np.mean(found)), settings[name], name) for name, found in scores.items()
    )
    at_seeds, reported = candidates["seed"].tolist(), candidates[criterion.value].tolist()
    chosen = [place for place in usable if configurations[place] == configuration]
    values = {int(at_seeds[place]): float(reported[place]) for place in chosen}
    return Selected(configuration, label, values, -sign * score, missing=missing, **counts)


def best_and_tied(values: Mapping[Any, Mapping[int, float]], best: Direction) -> set[Any]:
    """Return the best of several methods' values by seed, and all that cannot be told from it.

    Empty with fewer than `FEWEST_SEEDS` seeds.
    """
    if min((len(by_seed) for by_seed in values.values() if by_seed), default=0) < FEWEST_SEEDS:
        return set()
    means = {name: float(np.mean(list(by_seed.values()))) for name, by_seed in values.items() if by_seed}
    if not means:
        return set()
    winner = (max if best == "max" else min)(means, key=means.__getitem__)
    return {name for name in means if tied(values[winner], values[name])}


def tied(first: Mapping[int, float], second: Mapping[int, float]) -> bool:
    """Say whether the paired t-interval (95 %) of the differences at equal seeds holds zero."""
    differences = np.array([first[seed] - second[seed] for seed in first])
    n = len(differences)
    mean = abs(float(differences.mean()))
    spread = float(differences.std(ddof=1)) if n > 1 else 0.0
    if spread == 0.0:
        return mean == 0.0
    return mean <= _critical(n - 1) * spread / math.sqrt(n)


@cache
def _critical(freedom: int) -> float:
    """Return the t-interval's half width in standard errors."""
    from scipy.stats import t

    return float(t.ppf(0.5 + LEVEL / 2.0, freedom))


def _baseline(runs: pd.DataFrame, criterion: Criterion) -> dict[int, float]:
    """Return what others are subtracted from: by seed, the mean over the finished runs."""
    means = _usable(runs, criterion).groupby("seed")[criterion.against_value].mean()
    return {int(seed): float(value) for seed, value in zip(means.index, means, strict=True)}


def _below(base: Mapping[int, float], found: Selected) -> Selected:
    """Return how far the values lie below the baseline; a seed that the baseline lacks is missing."""
    values = {seed: base[seed] - value for seed, value in found.values.items() if seed in base}
    return replace(found, values=values, missing=found.missing + len(found.values) - len(values))


def _with_metrics(table: pd.DataFrame, criterion: Criterion) -> pd.DataFrame:
    """Refuse a metric that no finished run has; where no run finished there are no metrics at all."""
    for metric in criterion.metrics - set(table.columns):
        if (table["status"] == "done").any():
            raise unknown("metric", metric, (str(column) for column in table.columns))
        table = table.assign(**{metric: math.nan})
    return table


def _usable(runs: pd.DataFrame, criterion: Criterion) -> pd.DataFrame:
    """Return the finished runs that have both metrics, without other columns."""
    usable: pd.DataFrame = runs.loc[_is_usable(runs, criterion), ["configuration", "seed", *sorted(criterion.metrics)]]
    return usable


def _is_usable(runs: pd.DataFrame, criterion: Criterion) -> npt.NDArray[np.bool_]:
    """Say of every run whether it finished and has both metrics."""
    kept: npt.NDArray[np.bool_] = (runs["status"] == "done").to_numpy(dtype=np.bool_)
    for metric in criterion.metrics:
        kept = kept & np.isfinite(runs[metric].to_numpy(dtype=np.float64))
    return kept


def first_of_each(runs: pd.DataFrame, columns: Iterable[str] | None = None) -> dict[str, dict[str, Any]]:
    """Return, by configuration, its first run; a column that no configuration has is left out.

    Most settings are other methods'. Some columns are read one by one, which avoids copies of a wide table; all of
    them, from copies of these rows.
    """
    places: dict[str, int] = {}
    for place, name in enumerate(runs["configuration"].tolist()):
        places.setdefault(str(name), place)
    if columns is None:
        names = [str(name) for name in runs]
        rows = runs.iloc[list(places.values())].to_numpy(dtype=object).tolist()
    else:
        names = list(columns)
        read = [runs[name].tolist() for name in names]
        rows = [[values[place] for values in read] for place in places.values()]
    kept = [any(value is not None and value == value for value in values) for values in zip(*rows, strict=True)]
    return {
        configuration: {name: value for name, value, keep in zip(names, row, kept, strict=True) if keep}
        for configuration, row in zip(places, rows, strict=True)
    }


def swept_settings(firsts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the settings in which configurations, as `first_of_each` gives them, differ."""
    settings = [name for name in next(iter(firsts.values()), {}) if name.startswith("method.")]
    return [name for name in settings if len({str(row[name]) for row in firsts.values()}) > 1]


def _settings_of_each(runs: pd.DataFrame) -> dict[str, str]:
    """Return, by configuration, how it differs from the others of its sweep."""
    several = runs["configuration"].nunique() > 1
    settings = [str(name) for name in runs if several and str(name).startswith("method.")]
    firsts = first_of_each(runs, ["method_label", *settings])
    swept = swept_settings(firsts)
    return {name: _settings(row, swept) for name, row in firsts.items()}


def _settings(run: Mapping[str, Any], swept: list[str]) -> str:
    """Return how the configuration of this run differs from the others of its sweep."""
    if not swept:
        return str(run["method_label"]).partition("(")[2].removesuffix(")") or "default"
    return ", ".join(f"{column.removeprefix('method.')}={spelled(run[column])}" for column in swept)


def _columns(found: Selected) -> dict[str, Any]:
    numbers = interval(found.values.values()) if found.values else None
    spread = {name: getattr(numbers, name, None) for name in ("mean", "sd", "low", "high")}
    return {
        "configuration": found.configuration,
        "chosen": found.label,
        "score": found.score,
        "tried": found.tried,
        "runs": found.runs,
        "failed": found.failed,
        "missing": found.missing,
        **{name: math.nan if value is None else value for name, value in spread.items()},
        "n": len(found.values),
    }


@dataclass(frozen=True)
class SelectedRow:
    """One row of the table of selected configurations."""

    label: str
    criterion: Criterion
    unit: float
    decimals: int | None
    table: str = ""
    """The title of its table, empty for the suite's main one."""

    @property
    def key(self) -> str:
        """What tells it from the rows of all tables."""
        return f"{self.table}: {self.label}" if self.table else self.label


def selected_rows(suite: Suite, selection: str = "validation") -> list[SelectedRow]:
    """Return the rows that the suite asks for, selecting on validation or on test data."""
    if selection not in SELECTIONS:
        raise unknown("value for selection:", selection, SELECTIONS)
    return [_row(entry, selection) for entry in suite.selected]


def selected_frame(
    rows: Iterable[SelectedRow], table: pd.DataFrame, published: Iterable[PublishedValue] = ()
) -> pd.DataFrame:
    """Return every number of the rows: one line per problem instance, row and contender.

    To the columns of `selected_configurations` it adds `instance_label`, `row` (its key), `value` and
    `select` (the metrics), `published` (NaN where there is no number), `source` and `note`.
    The table has the columns that `mobench.scoring.contenders` adds.
    """
    known = list(published)
    labels = dict(zip(table["instance"], table["instance_label"], strict=True))
    groups = dict(list(table.groupby(["instance", "contender"]))) if known else {}
    parts = []
    for row in rows:
        if (table["status"] == "done").any() and not row.criterion.metrics <= set(table.columns):
            continue  # other problems than the suite's own were run
        if row.criterion.against and row.criterion.against not in set(table["contender"]):
            continue  # the contender to compare with was left out
        frame = selected_configurations(table, row.criterion, by="contender")
        if not len(frame):
            continue
        found = [
            _published(known, row.criterion, groups, key)
            for key in zip(frame["instance"], frame["contender"], strict=True)
        ]
        frame.insert(0, "instance_label", frame["instance"].map(labels))
        frame.insert(1, "row", row.key)
        frame.insert(2, "value", row.criterion.value)
        frame.insert(3, "select", row.criterion.select)
        frame["published"] = [None if value is None else value.value for value in found]
        frame["source"] = ["" if value is None else value.source for value in found]
        frame["note"] = ["" if value is None else value.note for value in found]
        parts.append(frame.astype({"published": float}))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["instance_label"])


def _published(
    known: list[PublishedValue], criterion: Criterion, groups: Mapping[Any, pd.DataFrame], key: tuple[str, str]
) -> PublishedValue | None:
    if not known or criterion.against:
        return None
    return find_published(known, criterion.value, criterion.candidates(groups[key]))


def _row(entry: SelectedEntry, selection: str) -> SelectedRow:
    chooser = entry.select if selection == "validation" else entry.select_test or entry.value
    against = entry.against_value or entry.value if entry.against else ""
    best = entry.select_best or entry.best
    criterion = Criterion(entry.value, chooser, entry.best, best, entry.fixed, entry.against, against)
    return SelectedRow(entry.label, criterion, entry.unit, entry.decimals, entry.table)
