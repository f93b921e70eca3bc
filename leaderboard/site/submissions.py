"""Results that others sent in: checked again before they are shown, and marked wherever they appear."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from mobench.core.spec import RunSpec
from mobench.scoring.provenance import SentIn
from mobench.store.columns import RunColumns
from mobench.store.folder import Store
from mobench.store.record import RunRecord
from mobench.store.stored_runs import Runs, Steps
from mobench.submissions import Bundle, BundleError, find_bundles, read_bundle
from mobench.submissions.bundle import SubmittedSuite
from mobench.submissions.expected_runs import requirements
from mobench.submissions.name_conflicts import TakenNames
from mobench.submissions.reference import checked
from mobench.submissions.verdict import ALL, Verdict, verdicts
from mobench.submissions.verdict_file import KeptVerdict

Say = Callable[[str], None]
Row = tuple[str, str, str]
"""A suite, a profile and a method."""


@dataclass(frozen=True)
class Submitted:
    """The runs of one suite and profile that came in with a bundle."""

    suite: str
    profile: str
    records: tuple[RunRecord, ...]
    """As they were repeated where they were, else as they were sent in."""
    sent_in: Mapping[str, SentIn]
    """What is known of each method's runs."""


@dataclass(frozen=True)
class Reference:
    """The runs of one suite and profile that ship with mobench. They count as stored ones."""

    bundle: str
    """The file's name."""
    by: str
    mobench: str
    """The version that wrote the bundle."""
    notes: str
    """What those who ran it say of it."""
    records: tuple[RunRecord, ...]
    planned: frozenset[str]
    """The ids of all runs that the suite asks for."""
    verdict: str
    """What came of repeating them, before and here."""

    @property
    def words(self) -> str:
        """Where the runs come from, for people."""
        written = f"{self.bundle}, by {self.by}, written with mobench {self.mobench}; {self.verdict}"
        return f"{written}. {self.notes}" if self.notes else written


@dataclass(frozen=True)
class Submissions:
    """What the bundles of a folder hold."""

    parts: Mapping[tuple[str, str], list[Submitted]] = field(default_factory=dict)
    """What was sent in, by suite and profile."""
    references: Mapping[tuple[str, str], Reference] = field(default_factory=dict)
    """What ships with mobench, by suite and profile."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """The text of a method's file where its bundle has it, by method. It is read, never run."""


def read_submissions(
    folder: Path | None, verified: Path | None, warn: Say, kept: Mapping[str, KeptVerdict] = MappingProxyType({})
) -> Submissions:
    """Return what bundles hold, with the verdict of the repeated runs in the results folder `verified`.

    A bundle with a fault is left out, and said so. Of references there may be verdicts that were `kept`, by the
    sha256 of their files.
    """
    found: dict[tuple[str, str], list[Submitted]] = {}
    references: dict[tuple[str, str], Reference] = {}
    sources: dict[str, str] = {}
    taken = TakenNames()
    for path in find_bundles(folder) if folder is not None else ():
        try:
            bundle = read_bundle(path)
        except BundleError as error:
            warn(f"left out: {error}")
            continue
        looked_at = checked(bundle)
        bundle = looked_at.bundle
        for words in looked_at.left_out:
            warn(f"left out of {bundle.name}: {words}")
        faults = list(looked_at.findings) or taken.conflicts(bundle)
        repeated, judged = ({}, {}) if faults else _judged(bundle, verified)
        faults += [finding for verdict in judged.values() for finding in verdict.findings]
        if faults:
            warn(f"left out: {bundle.name}: {faults[0]}")
            continue
        known = {method.name: method.source for method in bundle.methods if method.source is not None}
        sources |= {name: bundle.sources[digest] for name, digest in known.items() if digest in bundle.sources}
        for part in bundle.suites:
            key = part.suite, part.profile
            if bundle.is_reference:
                references[key] = _reference(bundle, part, judged[(*key, ALL)], kept.get(bundle.sha256))
            else:
                found.setdefault(key, []).append(_submitted(bundle, part, judged, repeated))
    return Submissions(found, references, sources)


def _judged(bundle: Bundle, verified: Path | None) -> tuple[dict[str, RunRecord], dict[Row, Verdict]]:
    """Return the repeated runs of a bundle without findings by id, and the verdicts that follow."""
    ids = {record.id for record in bundle.records}
    repeated = {record.id: record for record in Store(verified).records(ids)} if verified is not None else {}
    return repeated, verdicts(bundle, repeated)


def _submitted(
    bundle: Bundle,
    part: SubmittedSuite,
    judged: Mapping[Row, Verdict],
    repeated: Mapping[str, RunRecord],
) -> Submitted:
    ids = set(part.runs)
    records = [record for record in bundle.records if record.id in ids]
    sent_in = {}
    for method in dict.fromkeys(_method(record.spec) for record in records):
        verdict = judged[part.suite, part.profile, method]
        theirs = {record.id for record in records if _method(record.spec) == method}
        again = frozenset(theirs & repeated.keys())
        sent_in[method] = SentIn(bundle.by, verdict.words, verdict.ranked, len(theirs), again)
    return Submitted(part.suite, part.profile, tuple(repeated.get(one.id, one) for one in records), sent_in)


def _reference(bundle: Bundle, part: SubmittedSuite, verdict: Verdict, kept: KeptVerdict | None) -> Reference:
    ids = set(part.runs)
    before = kept.words(ids) if kept is not None else ""
    words = [before, *([verdict.words] if verdict.repeated or not before else [])]
    return Reference(
        bundle=bundle.name,
        by=bundle.by,
        mobench=bundle.mobench,
        notes=bundle.notes,
        records=tuple(record for record in bundle.records if record.id in ids),
        planned=frozenset(requirements(part.suite, part.profile).planned),
        verdict="; ".join(filter(None, words)),
    )


@dataclass(frozen=True)
class WithReference:
    """Stored runs of a suite, and those of its reference bundle that are not stored."""

    own: Runs
    reference: Reference

    def __call__(self) -> Iterator[RunRecord]:
        stored = set()
        for record in self.own():
            stored.add(record.id)
            yield record
        yield from (record for record in self.reference.records if record.id not in stored)

    def histories(self, ids: Collection[str]) -> Iterator[Steps]:
        return _histories(self.own, self.reference.records, ids)

    def columns(self) -> RunColumns:
        own = self.own.columns()
        stored = set(own.ids)
        shipped = (record for record in self.reference.records if record.id not in stored)
        return RunColumns.together([own, RunColumns.of(shipped)])


@dataclass(frozen=True)
class WithSubmissions:
    """Own and submitted runs of a suite. A method that has runs of its own stays as it is: two sweeps are not mixed."""

    own: Runs
    parts: Sequence[Submitted]
    sent_in: dict[str, SentIn] = field(default_factory=dict)
    """The methods that were sent in, filled by reading."""

    def __call__(self) -> Iterator[RunRecord]:
        taken = set()
        for record in self.own():
            taken.add(_method(record.spec))
            yield record
        yield from self._fresh(taken)

    def histories(self, ids: Collection[str]) -> Iterator[Steps]:
        return _histories(self.own, (record for part in self.parts for record in part.records), ids)

    def columns(self) -> RunColumns:
        own = self.own.columns()
        taken = {_method(spec) for spec in own.specs[0]}
        return RunColumns.together([own, RunColumns.of(self._fresh(taken))])

    def _fresh(self, taken: set[str]) -> Iterator[RunRecord]:
        for part in self.parts:
            fresh = {method: one for method, one in part.sent_in.items() if method not in taken}
            yield from (record for record in part.records if _method(record.spec) in fresh)
            taken |= fresh.keys()
            self.sent_in.update(fresh)


def _histories(own: Runs, others: Iterable[RunRecord], ids: Collection[str]) -> Iterator[Steps]:
    """Yield what is kept of the steps of the runs that are asked for; of runs that both have, the own."""
    found = set()
    for id_, history in own.histories(ids):
        found.add(id_)
        yield id_, history
    for record in others:
        if record.id in ids and record.id not in found:
            yield record.id, record.outcome.history


def _method(spec: RunSpec) -> str:
    return spec.method.partition("@")[0]
