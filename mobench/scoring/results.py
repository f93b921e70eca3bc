"""The results of one experiment: one object that terminal, report, plots and site all read."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pandas as pd

from mobench.core.problem import Problem
from mobench.core.registry import problems
from mobench.core.spec import RunSpec
from mobench.errors import UserError
from mobench.planning.suite import Suite
from mobench.scoring.baselines import with_delta
from mobench.scoring.budget import budget_curves
from mobench.scoring.catalog import MetricCatalog
from mobench.scoring.claims import ClaimResult, judge
from mobench.scoring.contender import (
    Contender,
    contenders_of,
    instance_labels,
    ordered_contenders,
    with_contenders,
)
from mobench.scoring.contests import Contest, aim_frame, contests
from mobench.scoring.headline import methods_table
from mobench.scoring.indicators.summary import summarize
from mobench.scoring.performance import performance_frame
from mobench.scoring.provenance import Provenance, SentIn
from mobench.scoring.published import Comparison, PublishedValue, compare, find_published, load_published
from mobench.scoring.query import Query, has_column, rows_where, select
from mobench.scoring.runs import diverged_ids, instance_of, results_table, without_unscored
from mobench.scoring.select import Criterion, Indicator, Sweeps, selected_indicators
from mobench.scoring.suite_tables import suite_tables
from mobench.scoring.tables import Estimate, Row, Table, Value
from mobench.scoring.volumes import Estimates, Volumes, frozen_volumes, volume_estimates
from mobench.store.stored_runs import HeldRuns, Runs


@dataclass(frozen=True)
class SuiteResults:
    """The stored runs of one experiment of a suite. What is derived from them is computed once, when asked for."""

    suite: Suite
    table: pd.DataFrame
    """A row per run, with the columns of `results_table` and of `with_contenders`, `submitted` and `repeated`."""
    problems: Mapping[str, Problem] = field(default_factory=dict)
    """The problem of every instance."""
    records: Runs = field(default_factory=HeldRuns)
    """Reads the records again, for plots of curves; they are not all kept in memory."""
    planned: int = 0
    """How many runs were planned."""
    differs: str = ""
    """In what the experiment differs from the suite's profile, empty where in nothing."""
    selection: str = "validation"
    """The data on which configurations are selected."""
    provenance: Provenance = field(default_factory=Provenance)
    plugins: tuple[str, ...] = ()
    """The files of plugins that runs were planned with."""
    submitted: Mapping[str, SentIn] = field(default_factory=dict)
    """The methods whose runs were sent in and are not the project's own."""

    @classmethod
    def read(
        cls,
        suite: Suite,
        runs: Runs,
        *,
        planned: int | None = None,
        differs: str = "",
        selection: str = "validation",
        plugins: tuple[str, ...] = (),
        submitted: Mapping[str, SentIn] | None = None,
    ) -> SuiteResults:
        """Read what tables need."""
        columns = runs.columns()
        table = results_table(columns, by_instance=True)
        solved, provenance = _Problems(suite, columns.specs[0]), Provenance.of(columns)
        del columns  # the table has a copy of it all
        sent_in = dict(submitted or {})
        if len(table):
            table = with_contenders(table, suite.split)
            table = table.assign(**_origin(table, sent_in))
        if len(table):
            table = without_unscored(table, solved)
        return cls(
            suite=suite,
            table=with_delta(table, suite.baselines, solved),
            problems=solved,
            records=runs,
            planned=len(table) if planned is None else planned,
            differs=differs,
            selection=selection,
            provenance=provenance,
            plugins=plugins,
            submitted=sent_in,
        )

    @property
    def profile(self) -> str:
        """The profile, and what differs from it."""
        return f"{self.suite.profile} with {self.differs}" if self.differs else self.suite.profile

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The contenders in the order of the suite."""
        return tuple(ordered_contenders(self.table, self.suite.methods)) if len(self.table) else ()

    @cached_property
    def unranked(self) -> frozenset[str]:
        """The contenders whose results were sent in and are not repeated well enough to rank them."""
        kept_out = {method for method, found in self.submitted.items() if not found.ranked}
        return frozenset(contender for contender, method in self.methods.items() if method in kept_out)

    @cached_property
    def done(self) -> pd.DataFrame:
        """The finished runs."""
        return rows_where(self.table, (self.table["status"] == "done").to_numpy())

    @property
    def named(self) -> pd.DataFrame:
        """The table with the columns `suite`, `profile` and `experiment`."""
        return self.table.assign(suite=self.suite.name, profile=self.suite.profile, experiment=self.differs)

    @property
    def failed(self) -> int:
        """How many stored runs failed."""
        return len(self.table) - len(self.done) if len(self.table) else 0

    @property
    def diverged(self) -> int:
        """How many of them failed because losses or gradients left the finite numbers, whatever the method answered."""
        return len(self.diverged_ids)

    @property
    def diverged_ids(self) -> set[str]:
        """The ids of these runs."""
        return diverged_ids(self.table) if self.failed else set()

    @cached_property
    def contenders(self) -> dict[str, Contender]:
        """The contenders by their labels."""
        if not len(self.table):
            return {}
        firsts = self.table.drop_duplicates("contender")
        found = contenders_of(firsts, self.suite.split)
        return {label: found[name] for label, name in zip(firsts["contender"], firsts["configuration"], strict=True)}

    @cached_property
    def methods(self) -> dict[str, str]:
        """The method of every contender."""
        return {label: contender.method for label, contender in self.contenders.items()}

    @cached_property
    def instances(self) -> dict[str, str]:
        """The labels of the problem instances, in order."""
        firsts = self.table.drop_duplicates("instance") if len(self.table) else pd.DataFrame()
        return dict(zip(firsts["instance"], firsts["instance_label"], strict=True)) if len(firsts) else {}

    @cached_property
    def metrics(self) -> MetricCatalog:
        """What every column is called and means."""
        return MetricCatalog(self.problems.values())

    @cached_property
    def contests(self) -> list[Contest]:
        """What contenders are ranked on."""
        return contests(self)

    @cached_property
    def aims(self) -> pd.DataFrame:
        """The number that ranks contenders on every instance, see `aim_frame`."""
        return aim_frame(self)

    @cached_property
    def budget_curves(self) -> pd.DataFrame:
        """Expected hypervolume against the number of configurations tried, see `budget_curves`."""
        return budget_curves(self)

    @cached_property
    def performance(self) -> pd.DataFrame:
        """Performance profiles over the contests, see `performance_frame`."""
        return performance_frame(self.contests)

    @cached_property
    def all_volumes(self) -> dict[str, dict[str, Volumes]]:
        """The hypervolumes in frozen bounds by instance, name, contender and seed; instances without are left out."""
        groups = self.table.groupby("instance", sort=False) if len(self.table) else ()
        found = {str(instance): frozen_volumes(self.problems[str(instance)], members) for instance, members in groups}
        return {instance: volumes for instance, volumes in found.items() if volumes}

    @cached_property
    def volumes(self) -> dict[str, Volumes]:
        """The hypervolume that ranks, by instance, contender and seed."""
        return {instance: next(iter(named.values())) for instance, named in self.all_volumes.items()}

    def volume_estimates(self, form: str) -> Estimates:
        """Return the hypervolumes of one form, by instance and contender."""
        return volume_estimates(self, form).get(form, {})

    @cached_property
    def references(self) -> dict[str, dict[str, float]]:
        """Hypervolumes of other algorithms by instance and name, at as many evaluations as the largest sweep has steps.

        A step counts as one evaluation of all objectives; its gradients are not counted.
        """
        found: dict[str, dict[str, float]] = {}
        known = len(self.table) and "steps" in self.done
        for instance, runs in self.done.groupby("instance", sort=False) if known else ():
            steps = runs.groupby(["contender", "seed"])["steps"].sum().max()
            found[str(instance)] = dict(self.problems[str(instance)].reference_volumes(int(steps)))
        return {instance: volumes for instance, volumes in found.items() if volumes}

    @cached_property
    def tables(self) -> list[Table]:
        """All tables of the suite, the most important first, the best row of each first."""
        return suite_tables(self)

    @cached_property
    def headline(self) -> Table:
        """The contenders by what the suite is ranked by, with effort and cost."""
        return methods_table(self)

    @cached_property
    def query(self) -> Query:
        """Selections from the table."""
        return Query(self.table)

    @cached_property
    def indicators(self) -> tuple[Indicator, ...]:
        """The numbers of selected configurations that the suite asks for."""
        return selected_indicators(self.suite, self.selection)

    def estimates(self, indicator: Indicator) -> Estimates:
        """Return the number of every instance and contender, with what is published beside it."""
        criterion = indicator.criterion
        if criterion is None:
            return {
                instance: {name: Estimate(by_seed) for name, by_seed in volumes.items()}
                for instance, volumes in self.volumes.items()
            }
        if not len(self.table) or (len(self.done) and not criterion.metrics <= set(self.table.columns)):
            return {}  # other problems than the suite's own were run
        if criterion.against and criterion.against not in self.contenders:
            return {}  # the contender to compare with was left out
        found = self.sweeps.chosen(criterion)
        if criterion.against or not any(value.metric == criterion.value for value in self.published_values):
            return found
        return {
            instance: {name: self._with_published(criterion, instance, name, one) for name, one in estimates.items()}
            for instance, estimates in found.items()
        }

    def _with_published(self, criterion: Criterion, instance: str, contender: str, estimate: Estimate) -> Estimate:
        runs = criterion.candidates(self._groups[instance, contender])
        published = find_published(self.published_values, criterion.value, runs)
        return estimate if published is None else replace(estimate, published=published)

    @cached_property
    def _groups(self) -> dict[tuple[str, str], pd.DataFrame]:
        groups = self.table.groupby(["instance", "contender"])
        return {(str(instance), str(contender)): runs for (instance, contender), runs in groups}

    @cached_property
    def published_values(self) -> list[PublishedValue]:
        """The numbers of the files of published numbers that the suite names."""
        return load_published(self.suite.published_tables)

    @cached_property
    def sweeps(self) -> Sweeps:
        """The runs of every contender on every instance, to choose from."""
        return Sweeps(self.table, "contender")

    @cached_property
    def published(self) -> list[Comparison]:
        """The published quantities beside ours; where an experiment differs, those that it has runs for."""
        return [row for row in compare(self) if row.runs or not self.differs]

    @cached_property
    def claims(self) -> list[ClaimResult]:
        """The suite's claims, and whether they hold."""
        return judge(self.suite.claims, self.query, self.records)

    def row(self, contender: str, *cells: Value) -> Row:
        """Return the row of a contender."""
        return Row(contender, cells, self.contenders[contender])

    def histories(self, ids: Collection[str] | None = None) -> Iterator[tuple[str, Mapping[str, list[Any]]]]:
        """Yield what the runs of the table, or some of them, keep of their steps, by run id. They are read anew."""
        return iter(self.records.histories(set(self.table["id"]) if ids is None else ids))

    def where(self, conditions: Mapping[str, Any]) -> SuiteResults:
        """Return the runs whose columns have the given values, failed ones too; a list means any of them."""
        kept = select(self.table.assign(status="done"), conditions).index
        table = self.table.loc[kept]
        return replace(self, table=table.assign(instance_label=table["instance"].map(instance_labels(table))))

    def has(self, column: str) -> bool:
        """Say whether the results have a column; a setting of a method that was not run is no mistake."""
        return has_column(self.table, column)

    def select_metric(self, validation: str, test: str) -> str:
        """Return the metric that chooses configurations."""
        return validation if self.selection == "validation" else test

    def summary(self, by: Sequence[str], metrics: Sequence[str]) -> pd.DataFrame:
        """Return mean and interval over the seeds of each group and metric, see `summarize`."""
        return summarize(self.table, by, metrics)

    def selected_by(self, value: str, select: str) -> pd.DataFrame:
        """Return the configuration that `select` chooses of each contender, see `selected_configurations`."""
        chosen = self.sweeps.selected(Criterion(value, select))
        labels = dict(zip(self.table["instance"], self.table["instance_label"], strict=True))
        return chosen.assign(instance_label=chosen["instance"].map(labels)) if len(chosen) else chosen

    def panels_over(self, setting: str) -> pd.DataFrame:
        """Return the table with a column `panel`: the instance's name without the setting that is an axis."""
        merged = self.table.assign(**{setting: 0})
        return self.table.assign(panel=self.table["instance"].map(instance_labels(merged)))


def _origin(table: pd.DataFrame, sent_in: Mapping[str, SentIn]) -> dict[str, Any]:
    """Return who sent each run in, and whether it was repeated; empty for the project's own runs."""
    if not sent_in:
        return {"submitted": math.nan, "repeated": math.nan}
    by = {method: found.by for method, found in sent_in.items()}
    repeated = {id_ for found in sent_in.values() for id_ in found.repeated}
    theirs = table["method"].isin(list(by))
    answers = table["id"].isin(list(repeated)).map({True: "yes", False: "no"})
    return {"submitted": table["method"].map(by), "repeated": answers.where(theirs, None)}


class _Problems(dict[str, Problem]):
    """Problems by instance; asking for one whose code is not here says how to give it."""

    def __init__(self, suite: Suite, specs: Iterable[RunSpec]) -> None:
        self._suite = suite.name
        instances = {instance_of(spec): spec for spec in specs}
        self._ids = {instance: spec.problem for instance, spec in instances.items()}
        known = {instance: spec for instance, spec in instances.items() if spec.problem in problems()}
        super().__init__({instance: spec.build_problem() for instance, spec in known.items()})

    def __missing__(self, instance: str) -> Problem:
        raise UserError(
            f"{self._suite}: the problem '{self._ids[instance]}' is not known here; plugins=PATH names its file"
        )
