"""Hypervolumes of every contender on every problem instance, in the problem's frozen bounds and in the paper's form.

A contender's points on one instance at one seed are the operating points of its configurations. Those that another one
dominates on validation data are left out before test data is looked at; the volume is that of the others, measured on
test data. A seed at which no run finished, or which the contender did not run, counts 0: a failure is never dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from mobench.core.operating_points import Hypervolume
from mobench.core.problem import Problem
from mobench.scoring.indicators.hypervolume import NonPositiveError, hypervolume, hypervolumes, paper_hypervolume
from mobench.scoring.tables import Estimate

if TYPE_CHECKING:
    from mobench.scoring.results import SuiteResults

PAPER = "paper"
PAPER_LABEL = "HV, paper's form"
PAPER_MEANING = "the paper's hypervolume: log10 of the losses, min–max over all methods of this table, in [0, 100]"
"""It moves with every method that joins the table; all others are comparable over time."""
SMALLEST = 1e-12
"""Logarithms are taken of at least this."""

Array = npt.NDArray[np.float64]
BySeed = dict[int, float]
Volumes = dict[str, BySeed]
"""By contender, then by seed."""
Estimates = dict[str, dict[str, Estimate]]
"""By problem instance, then by contender."""


@dataclass(frozen=True)
class Front:
    """The operating points of some runs at one seed, in minimised coordinates: runs × points of each × axes."""

    declared: Hypervolume
    test: Array
    validation: Array | None
    """None where the problem has no data to choose on."""

    def points(self, runs: npt.ArrayLike | None = None) -> Array:
        """Return the points of the given runs that are chosen on validation data, as measured on test data."""
        chosen = slice(None) if runs is None else np.asarray(runs, dtype=int)
        axes = len(self.declared.axes)
        points = self.test[chosen].reshape(-1, axes)
        if self.validation is None:
            return points
        return points[worth_keeping(self.validation[chosen].reshape(-1, axes), self.declared.bounds.reference)]

    def of(self, runs: npt.NDArray[np.bool_]) -> Front:
        """Return the operating points of some of the runs."""
        return replace(
            self, test=self.test[runs], validation=None if self.validation is None else self.validation[runs]
        )

    def volumes(self, sets: npt.NDArray[np.int64], count: int) -> Array:
        """Return the hypervolumes of `count` sets of runs; `sets` has the number of the set for every run."""
        _, each, axes = self.test.shape
        points, sets = self.test.reshape(-1, axes), np.repeat(sets, each)
        bounds = self.declared.bounds
        if self.validation is not None:
            seen, kept = self.validation.reshape(-1, axes), np.zeros(len(points), dtype=np.bool_)
            order = np.argsort(sets, kind="stable")
            for members in np.split(order, np.flatnonzero(np.diff(sets[order])) + 1) if len(order) else ():
                kept[members] = worth_keeping(seen[members], bounds.reference)
            points, sets = points[kept], sets[kept]
        return hypervolumes(points, sets, count, bounds.ideal, bounds.reference)

    def volume(self, runs: npt.ArrayLike | None = None) -> float:
        """Return the hypervolume of these points in the frozen bounds."""
        bounds = self.declared.bounds
        return hypervolume(self.points(runs), bounds.ideal, bounds.reference)


def worth_keeping(points: Array, reference: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Mark the points that are better than the reference everywhere and that no other point dominates.

    Of points that agree in every coordinate all are kept.
    """
    kept = np.array([bool((point < np.asarray(reference)).all()) for point in points], dtype=np.bool_)
    rivals = points[kept]
    for place in np.flatnonzero(kept):
        nowhere_worse = (rivals <= points[place]).all(axis=1)
        kept[place] = not (nowhere_worse & (rivals < points[place]).any(axis=1)).any()
    return kept


def fronts(declared: Hypervolume, runs: pd.DataFrame) -> dict[int, Front]:
    """Return the operating points of the finished runs, per seed; a seed without a finished run has none."""
    done = runs[runs["status"] == "done"]
    whole = _front(declared, done)
    seeds = done["seed"].to_numpy()
    return {int(seed): whole.of(seeds == seed) for seed in sorted(runs["seed"].unique())}


def _front(declared: Hypervolume, done: pd.DataFrame) -> Front:
    test = _coordinates(declared, [point.values for point in declared.points], done)
    chosen = [point.select for point in declared.points]
    return Front(declared, test, _coordinates(declared, chosen, done) if all(chosen) else None)


def _coordinates(declared: Hypervolume, points: list[tuple[str, ...]], runs: pd.DataFrame) -> Array:
    """Return the coordinates of every run's points, all minimised."""
    # Where no run of a table has finished, it lacks the columns.
    needed = list(declared.metrics())
    values = dict(zip(needed, runs.reindex(columns=needed).to_numpy(dtype=np.float64).T, strict=True))
    found = np.empty((len(runs), len(points), len(declared.axes)))
    for place, names in enumerate(points):
        for column, (axis, name) in enumerate(zip(declared.axes, names, strict=True)):
            value = values[name] / values[axis.relative_to] if axis.relative_to else values[name]
            found[:, place, column] = axis.sign * (np.log10(np.maximum(value, SMALLEST)) if axis.log else value)
    return found


def frozen_volumes(problem: Problem, members: pd.DataFrame) -> dict[str, Volumes]:
    """Return the hypervolumes of one instance by name, the one that ranks first; empty where it has none."""
    seeds = [int(seed) for seed in members["seed"].unique()]
    return {declared.name: _volumes(declared, members, seeds) for declared in problem.hypervolumes()}


def _volumes(declared: Hypervolume, members: pd.DataFrame, seeds: list[int]) -> Volumes:
    contenders, names = pd.factorize(members["contender"])
    places = pd.Index(seeds).get_indexer(pd.Index(members["seed"]))
    done = (members["status"] == "done").to_numpy()
    sets = (contenders * len(seeds) + places)[done]
    volumes = _front(declared, members[done]).volumes(sets, len(names) * len(seeds)).reshape(len(names), len(seeds))
    return {str(name): dict(zip(seeds, row, strict=True)) for name, row in zip(names, volumes.tolist(), strict=True)}


def paper_volumes(problem: Problem, members: pd.DataFrame) -> Volumes:
    """Return the paper's hypervolumes of one instance; empty where a loss is not positive."""
    columns = [f"loss/{name}" for name in problem.objectives()]
    done = members[members["status"] == "done"]
    if not problem.hypervolumes() or not set(columns) <= set(done.columns):
        return {}
    keys = [(str(name), int(seed)) for name in members["contender"].unique() for seed in members["seed"].unique()]
    losses = done[columns].to_numpy(dtype=np.float64)
    places = done.groupby(["contender", "seed"], sort=False).indices
    try:
        volumes = paper_hypervolume({key: losses[places.get(key, [])] for key in keys})
    except NonPositiveError:
        return {}
    found: Volumes = {}
    for (contender, seed), volume in volumes.items():
        found.setdefault(contender, {})[seed] = volume
    return found


def volume_estimates(results: SuiteResults, form: str | None = None) -> dict[str, Estimates]:
    """Return hypervolumes by form, instance and contender: of one form, or of all with the paper's as the last.

    A form that an instance does not have is left out: the frozen ones need bounds, the paper's positive losses.
    """
    found: dict[str, Estimates] = {}
    for instance, members in results.table.groupby("instance", sort=False) if len(results.table) else ():
        forms = dict(results.all_volumes.get(str(instance), {}))
        if form in (None, PAPER):
            forms[PAPER] = paper_volumes(results.problems[str(instance)], members)
        for name, volumes in forms.items():
            if volumes and form in (None, name):
                estimates = {contender: Estimate(by_seed) for contender, by_seed in volumes.items()}
                found.setdefault(name, {})[str(instance)] = estimates
    return found


def declared_volumes(results: SuiteResults, instance: str) -> dict[str, Hypervolume]:
    """Return the volumes that an instance's problem declares, by name; the first ranks."""
    return {volume.name: volume for volume in results.problems[instance].hypervolumes()}
