"""Whether everything in a results folder is what it should be; what is not is set aside, never deleted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import orjson

from mobench.errors import UserError
from mobench.store.folder import DamagedRecordError, Store, read_regular
from mobench.store.record import SCHEMA, NewerSchemaError, RunRecord

Kind = Literal["truncated", "edited", "foreign", "newer", "older", "packed"]


@dataclass(frozen=True)
class Finding:
    """One file that is not a whole record of the present schema."""

    path: Path
    kind: Kind
    """`newer` and `older` are whole records of another schema, `packed` is damage in a pack; these stay as they are."""
    reason: str

    @property
    def is_bad(self) -> bool:
        """Whether there is no whole record."""
        return self.kind not in ("newer", "older")


@dataclass(frozen=True)
class Missing:
    """Runs of a suite that have no whole record."""

    suite: str
    profile: str
    runs: int
    planned: int


@dataclass
class Report:
    """What was found."""

    whole: int = 0
    findings: list[Finding] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)

    @property
    def bad(self) -> list[Finding]:
        """The files that are no records."""
        return [finding for finding in self.findings if finding.is_bad]

    @property
    def counts(self) -> Counter[str]:
        """How many files there are of each kind."""
        return Counter(finding.kind for finding in self.findings)


def verify(store: Store, *, set_aside: bool, migrate: bool = False) -> Report:
    """Read every file of the store's runs and compare it with its checksum and its name.

    With `set_aside` a file that is no record gets the ending `.damaged`, so that its run counts as missing.
    With `migrate` a record of an earlier schema is written again in the present one.
    """
    report = Report()
    good = set()
    for path in store.run_files():
        finding = _examine(path, store)
        if finding is not None:
            report.findings.append(finding)
        if finding is None or not finding.is_bad:
            report.whole += 1
            good.add(path.stem)
        elif set_aside:
            store.set_aside(path)
        if finding is not None and finding.kind == "older" and migrate:
            store.save(store.load(path.stem))
    for id_, pack in store.packed_files():
        try:
            store.whole_bytes(id_)
        except DamagedRecordError as error:
            report.findings.append(Finding(pack, "packed", f"run {id_[:12]}: {error}"))
        else:
            report.whole += 1
            good.add(id_)
    report.missing = list(_missing(store, good))
    return report


def _examine(path: Path, store: Store) -> Finding | None:
    """Return what is wrong with a file, None for a whole record."""
    if path != store.path(path.stem):
        return Finding(path, "foreign", "it does not have the name of a record")
    try:
        content = read_regular(path)
        record = RunRecord.decode(content or b"")
    except NewerSchemaError as error:
        return Finding(path, "newer", str(error))
    except DamagedRecordError as error:
        return Finding(path, "foreign", str(error))
    except ValueError as error:
        return Finding(path, _kind(content or b""), str(error))
    if record.id != path.stem:
        return Finding(path, "foreign", f"it holds run {record.id}")
    if (schema := orjson.loads(content or b"")["schema"]) < SCHEMA:
        return Finding(path, "older", f"its schema is {schema}, without a checksum")
    return None


def _kind(content: bytes) -> Kind:
    try:
        data = orjson.loads(content)
    except ValueError:
        return "truncated"
    return "edited" if isinstance(data, dict) and {"schema", "id", "outcome"} <= set(data) else "foreign"


def _missing(store: Store, good: set[str]) -> Iterator[Missing]:
    try:
        manifests = store.manifests()
    except UserError as error:
        raise UserError(f"{error} (no other file was harmed)") from error
    for manifest in manifests:
        if absent := sum(id_ not in good for id_ in manifest.runs):
            yield Missing(manifest.suite, manifest.profile, absent, len(manifest.runs))
