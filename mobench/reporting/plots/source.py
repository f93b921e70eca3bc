"""What plots are made of: the results table, the records behind it, and how configurations are selected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pandas as pd

from mobench.planning.suite import Suite
from mobench.scoring.contenders import instance_labels, ordered_contenders, with_contenders
from mobench.scoring.contests import Contest, contests
from mobench.scoring.query import has_column, select
from mobench.store.record import RunRecord

NO_SUITE = Suite("", "", "")
Records = Callable[[], Iterable[RunRecord]]


@dataclass(frozen=True)
class Source:
    """The stored runs of one suite under one profile."""

    table: pd.DataFrame
    """The results table with the columns of `mobench.scoring.contenders`."""
    records: Records
    """Yields the records again, for plots of curves; they are not all kept in memory."""
    order: tuple[str, ...]
    """The contenders, in the order of the suite."""
    selection: str = "validation"
    suite: Suite = NO_SUITE
    """The suite, for plots that rank by what it asks for."""

    @classmethod
    def of(cls, suite: Suite, table: pd.DataFrame, records: Records, selection: str = "validation") -> Source:
        """Return the source of a suite's plots from its plain results table."""
        contended = with_contenders(table, suite.split)
        return cls(contended, records, tuple(ordered_contenders(contended, suite.methods)), selection, suite)

    @cached_property
    def contests(self) -> list[Contest]:
        """What contenders are ranked on; more than one plot asks for it."""
        return contests(self.suite, self.table, selection=self.selection)

    def where(self, conditions: Mapping[str, Any]) -> Source:
        """Return the source restricted to runs whose columns have the given values; a list means any of them."""
        # `select` keeps finished runs; here failed ones stay, to be shown as failed.
        kept = select(self.table.assign(status="done"), conditions).index
        table = self.table.loc[kept]
        return replace(self, table=table.assign(instance_label=table["instance"].map(instance_labels(table))))

    def has(self, column: str) -> bool:
        """Say whether the results have a column; a setting of a method that was not run is no mistake."""
        return has_column(self.table, column)

    def select_metric(self, validation: str, test: str) -> str:
        """Return the metric that chooses configurations."""
        return validation if self.selection == "validation" else test

    def panels_over(self, setting: str) -> pd.DataFrame:
        """Return the table with a column `panel`: the instance's name without the setting that is an axis."""
        merged = self.table.assign(**{setting: 0})
        return self.table.assign(panel=self.table["instance"].map(instance_labels(merged)))
