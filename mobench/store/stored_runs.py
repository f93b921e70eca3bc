"""Runs to read, one by one with their curves or all at once as columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mobench.store.columns import RunColumns
from mobench.store.folder import OnDamage, Store
from mobench.store.record import RunRecord

Steps = tuple[str, Mapping[str, list[Any]]]
"""A run's id, and what its record keeps of its steps."""


class Runs(Protocol):
    """Runs that can be read again and again."""

    def __call__(self) -> Iterable[RunRecord]:
        """Yield the records."""

    def columns(self) -> RunColumns:
        """Return what tables need of all runs, without curves."""

    def histories(self, ids: Collection[str]) -> Iterable[Steps]:
        """Yield what some of the runs, which `columns` has found, keep of their steps."""


@dataclass(frozen=True)
class HeldRuns:
    """Runs whose records are in memory."""

    records: Sequence[RunRecord] = ()

    def __call__(self) -> Iterator[RunRecord]:
        return iter(self.records)

    def histories(self, ids: Collection[str]) -> Iterator[Steps]:
        return ((record.id, record.outcome.history) for record in self.records if record.id in ids)

    def columns(self) -> RunColumns:
        return RunColumns.of(self.records)


@dataclass(frozen=True)
class StoredRuns:
    """The stored ones among some runs of a suite; None are all runs of the folder."""

    store: Store
    ids: Iterable[str] | None
    on_damage: OnDamage | None = None
    index: str = "all"
    """The name of the index that saves reading; runs of one suite and profile share one."""

    def __call__(self) -> Iterator[RunRecord]:
        return self.store.records(self.ids, on_damage=self.on_damage)

    def histories(self, ids: Collection[str]) -> Iterator[Steps]:
        return self.store.histories(ids, on_damage=self.on_damage)

    def columns(self) -> RunColumns:
        return self.store.columns(self.ids, self.index, on_damage=self.on_damage)
