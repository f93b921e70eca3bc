"""Results that others sent in: checked again before they are shown, and marked wherever they appear."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mobench.store.record import RunRecord
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
            by = {_method(record): bundle.by for record in records}
            found.setdefault((part.suite, part.profile), []).append(Submitted(part.suite, part.profile, records, by))
    return found


def with_submissions(
    own: Callable[[], Iterable[RunRecord]], parts: Sequence[Submitted]
) -> tuple[Callable[[], Iterator[RunRecord]], dict[str, str]]:
    """Return a reader of own and submitted records, and a mapping of who sent in which method, filled by reading.

    A method that has runs of its own stays as it is: two sweeps of one method are not mixed.
    """
    by: dict[str, str] = {}

    def records() -> Iterator[RunRecord]:
        taken = set()
        for record in own():
            taken.add(_method(record))
            yield record
        for part in parts:
            fresh = {method: who for method, who in part.by.items() if method not in taken}
            yield from (record for record in part.records if _method(record) in fresh)
            taken |= fresh.keys()
            by.update(fresh)

    return records, by


def _method(record: RunRecord) -> str:
    return record.spec.method.partition("@")[0]
