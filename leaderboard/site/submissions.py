"""Results that others sent in: checked again before they are shown, and marked wherever they appear."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mobench.core.spec import RunSpec
from mobench.store.columns import RunColumns
from mobench.store.record import RunRecord
from mobench.store.stored_runs import Runs
from mobench.submissions import BundleError, find_bundles, findings, read_bundle
from mobench.submissions.name_conflicts import TakenNames

Say = Callable[[str], None]


@dataclass(frozen=True)
class Submitted:
    """The runs of one suite and profile that came in with bundles."""

    suite: str
    profile: str
    records: tuple[RunRecord, ...]
    by: Mapping[str, str]
    """Who sent them in, by method."""


def read_submissions(folder: Path | None, warn: Say) -> dict[tuple[str, str], list[Submitted]]:
    """Return what the bundles of a folder hold, by suite and profile; one with a fault is left out, and said so."""
    found: dict[tuple[str, str], list[Submitted]] = {}
    taken = TakenNames()
    for path in find_bundles(folder) if folder is not None else ():
        try:
            bundle = read_bundle(path)
        except BundleError as error:
            warn(f"left out: {error}")
            continue
        faults = findings(bundle) or taken.conflicts(bundle)
        if faults:
            warn(f"left out: {bundle.name}: {faults[0]}")
            continue
        for part in bundle.suites:
            ids = set(part.runs)
            records = tuple(record for record in bundle.records if record.id in ids)
            by = {_method(record.spec): bundle.by for record in records}
            found.setdefault((part.suite, part.profile), []).append(Submitted(part.suite, part.profile, records, by))
    return found


@dataclass(frozen=True)
class WithSubmissions:
    """Own and submitted runs of a suite. A method that has runs of its own stays as it is: two sweeps are not mixed."""

    own: Runs
    parts: Sequence[Submitted]
    by: dict[str, str] = field(default_factory=dict)
    """Who sent in which method, filled by reading."""

    def __call__(self) -> Iterator[RunRecord]:
        taken = set()
        for record in self.own():
            taken.add(_method(record.spec))
            yield record
        yield from self._fresh(taken)

    def columns(self) -> RunColumns:
        own = self.own.columns()
        taken = {_method(spec) for spec in own.specs[0]}
        return RunColumns.together([own, RunColumns.of(self._fresh(taken))])

    def _fresh(self, taken: set[str]) -> Iterator[RunRecord]:
        for part in self.parts:
            fresh = {method: who for method, who in part.by.items() if method not in taken}
            yield from (record for record in part.records if _method(record.spec) in fresh)
            taken |= fresh.keys()
            self.by.update(fresh)


def _method(spec: RunSpec) -> str:
    return spec.method.partition("@")[0]
