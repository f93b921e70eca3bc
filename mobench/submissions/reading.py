"""From a stranger's file to a `Bundle`, or to one sentence that says why not."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from mobench.errors import UserError
from mobench.store.record import RunRecord
from mobench.submissions import limits
from mobench.submissions.claims import check_claims, check_run
from mobench.submissions.form import Bundle, SubmittedSuite
from mobench.submissions.manifest import PLACE, Manifest, read_manifest
from mobench.submissions.packing import unpack_lines
from mobench.submissions.runs import read_run
from mobench.submissions.text import BundleError, RefusedError, read_line, shown


def read_bundle(path: Path) -> Bundle:
    """Read and check a bundle; raises `BundleError` for whatever is wrong with its content.

    Checked here: size, form, checksums, types, ids, and that no name is claimed wrongly. Whether the runs
    are complete and plausible is another question, see `mobench.submissions.findings`.
    """
    return parse_bundle(path.name, _read_file(path))


def parse_bundle(name: str, packed: bytes) -> Bundle:
    """Read a bundle from memory."""
    try:
        return _parse(name, packed)
    except RefusedError as refusal:
        raise BundleError(f"{shown(name)}: {refusal}") from None


def find_bundles(folder: Path) -> list[Path]:
    """Return everything in a folder of submissions that has to be a bundle: all but README.md and hidden files."""
    if not folder.is_dir():
        raise UserError(f"submissions={folder}: there is no such folder")
    return sorted(path for path in folder.iterdir() if path.name != "README.md" and not path.name.startswith("."))


def _read_file(path: Path) -> bytes:
    """Read a regular file up to the limit; links, pipes and folders are not followed or waited for."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file") from None
    except OSError as error:
        raise BundleError(f"{shown(path.name)}: it cannot be read as a plain file: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise BundleError(f"{shown(path.name)}: it is not a plain file")
    with os.fdopen(handle, "rb") as file:
        return file.read(limits.COMPRESSED_BYTES + 1)


def _parse(name: str, packed: bytes) -> Bundle:
    lines = unpack_lines(packed)
    manifest = read_manifest(read_line(PLACE, next(lines, b"")))
    check_claims(manifest.methods)
    digest = hashlib.sha256()
    records: list[RunRecord] = []
    members: list[list[str]] = [[] for _ in manifest.suites]
    for number, line in enumerate(lines, start=2):
        if len(records) == manifest.records:
            raise RefusedError("the file", f"it has more than the {manifest.records} runs of its manifest")
        place = f"line {number}"
        digest.update(line + b"\n")
        record, suites = read_run(place, read_line(place, line), manifest.environments, len(manifest.suites))
        if records and record.id <= records[-1].id:
            same = record.id == records[-1].id
            raise RefusedError(
                place, f"run {record.id[:12]} is there twice" if same else "runs are not in the order of ids"
            )
        check_run(place, record, manifest.methods)
        records.append(record)
        for suite in suites:
            members[suite].append(record.id)
    if len(records) != manifest.records:
        raise RefusedError("the file", f"it has {len(records)} of the {manifest.records} runs of its manifest")
    if digest.hexdigest() != manifest.digest:
        raise RefusedError(
            "the file", "the checksum of its runs does not fit: they were altered after they were written"
        )
    _check_used(manifest, {record.spec.sources.get("method") for record in records})
    return Bundle(
        name=name,
        mobench=manifest.mobench,
        by=manifest.by,
        contact=manifest.contact,
        notes=manifest.notes,
        methods=manifest.methods,
        suites=tuple(
            SubmittedSuite(part.suite, part.profile, part.definition, part.sweeps, tuple(ids))
            for part, ids in zip(manifest.suites, members, strict=True)
        ),
        environments=manifest.environments,
        sources=manifest.sources,
        records=records,
    )


def _check_used(manifest: Manifest, sources: set[str | None]) -> None:
    for digest in manifest.sources:
        if digest not in sources:
            raise RefusedError(PLACE, f"the source {digest[:12]}… belongs to no method of this bundle")
