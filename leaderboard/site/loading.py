"""Results, read once: a table per suite and profile, and where its runs come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import pandas as pd

from mobench.planning.suite import Suite, load_suite, profiles_of, suite_files
from mobench.scoring.contenders import ordered_contenders, with_contenders
from mobench.scoring.contests import Contest, contests
from mobench.scoring.results_table import results_table
from mobench.store.folder import DamagedRecordError, OnDamage, Store
from mobench.store.record import RunRecord
from mobench.store.suite_manifest import SuiteManifest

from .names import suite_stem
from .provenance import Provenance
from .submissions import Submitted, with_submissions

Records = Callable[[], Iterable[RunRecord]]


@dataclass(frozen=True)
class SuiteResults:
    """The runs of one suite under one profile. Histories are not kept; `records` reads them again."""

    suite: Suite
    table: pd.DataFrame
    """The results table with the columns of `mobench.scoring.contenders`, and `submitted`."""
    order: tuple[str, ...]
    """The contenders in the order of the suite."""
    planned: int
    records: Records
    provenance: Provenance
    submitted: Mapping[str, str] = field(default_factory=dict)
    """Who sent a method's runs in, for the methods that are not the project's own."""

    @property
    def stem(self) -> str:
        """The stem of this suite's files."""
        return suite_stem(self.suite.name, self.suite.profile)

    @property
    def failed(self) -> int:
        """How many stored runs failed."""
        return int((self.table["status"] != "done").sum())

    @cached_property
    def contests(self) -> list[Contest]:
        """What contenders are ranked on."""
        return contests(self.suite, self.table)

    @cached_property
    def methods(self) -> dict[str, str]:
        """The method of every contender."""
        found = self.table.drop_duplicates("contender")
        return dict(zip(found["contender"], found["method"], strict=True))


def read_results(
    store: Store, submissions: Mapping[tuple[str, str], list[Submitted]], warn: Callable[[str], None]
) -> Iterator[SuiteResults]:
    """Yield the results of every suite and profile that has at least one run, stored or sent in."""

    def on_damage(damage: DamagedRecordError) -> None:
        warn(f"warning: {damage}")

    stored = {(manifest.suite, manifest.profile): manifest for manifest in store.manifests()}
    for name, profile in sorted({*stored, *submissions}):
        manifest = stored.get((name, profile))
        suite = load_suite(name, profile) if manifest is None else suite_of(manifest)
        ids = frozenset(manifest.runs if manifest is not None else ())
        own = _reader(store, ids, on_damage)
        parts = submissions.get((name, profile), [])
        found = suite_results(suite, own, len(ids))
        if parts:
            records, by = with_submissions(own, found.methods.values() if found else (), parts)
            for method in (method for part in parts for method, who in part.by.items() if by.get(method) != who):
                warn(f"left out: submitted runs of {method} in {name} ({profile}), which has runs of its own there")
            added = sum(len(part.records) for part in parts)
            found = suite_results(suite, records, len(ids) + added, by)
        if found is not None:
            yield found


def suite_results(
    suite: Suite, records: Records, planned: int, submitted: Mapping[str, str] | None = None
) -> SuiteResults | None:
    """Return the results that these records hold of a suite, None where there is no record."""
    provenance = Provenance()
    table = results_table(provenance.watch(records()))
    if not len(table):
        return None
    by = dict(submitted or {})
    contended = with_contenders(table, suite.split).assign(submitted=lambda runs: runs["method"].map(by))
    order = tuple(ordered_contenders(contended, suite.methods))
    return SuiteResults(suite, contended, order, planned, records, provenance, by)


def suite_of(manifest: SuiteManifest) -> Suite:
    """Return the suite of a manifest: as it ships with mobench, or else as it was when its runs were planned."""
    if manifest.suite in suite_files() and manifest.profile in profiles_of(manifest.suite):
        return load_suite(manifest.suite, manifest.profile)
    known = {field.name for field in fields(Suite)}
    parts: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in manifest.definition.items()
        if key in known
    }
    return Suite(**parts)


def _reader(store: Store, ids: frozenset[str], on_damage: OnDamage) -> Records:
    return lambda: store.records(ids, on_damage=on_damage)
