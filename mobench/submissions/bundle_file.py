"""Bundles as files: gzip over canonical lines, read with every size bounded before it is used.

A single compressed stream has no entries with names, so no path, link or duplicate can be hidden in it.
A line is accepted only if it is what mobench itself would write for its content.
"""

from __future__ import annotations

import hashlib
import os
import stat
import zlib
from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from mobench.errors import UserError
from mobench.store.record import Environment, RunRecord
from mobench.store.validation import complaint, shown
from mobench.submissions import limits
from mobench.submissions.accepted import BundleError, RefusedError, spell
from mobench.submissions.bundle import (
    Bundle,
    BundleHeader,
    DeclaredSuite,
    ReferenceHeader,
    RunLine,
    Seal,
    Setup,
    Submission,
    SubmittedSuite,
)
from mobench.submissions.curves import CURVES
from mobench.submissions.name_conflicts import check_names, check_run, check_shipped

FILE = "the file"
HEADER = "the header (line 1)"
_GZIP = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
"""gzip's first bytes without name, time or system."""
_CHUNK = 2**18
AnyHeader = BundleHeader | ReferenceHeader
_HEADER: TypeAdapter[AnyHeader] = TypeAdapter(BundleHeader)
_REFERENCE: TypeAdapter[AnyHeader] = TypeAdapter(ReferenceHeader)
_IS_REFERENCE = b'"kind":"mobench-reference"'
_RUN = TypeAdapter(RunLine)
LineT = TypeVar("LineT")


def find_bundles(folder: Path) -> list[Path]:
    """Return everything in a folder of submissions that has to be a bundle.

    That is all but README.md, hidden files, and the methods' own files (`*.py`), which are given as plugins.
    """
    if not folder.is_dir():
        raise UserError(f"submissions={folder}: there is no such folder")
    others = (path for path in folder.iterdir() if path.name != "README.md" and not path.name.startswith("."))
    return sorted(path for path in others if path.suffix != ".py")


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


def encode_bundle(bundle: Bundle) -> bytes:
    """Return the file's content. Equal bundles give equal bytes: nothing of the moment or the machine is added."""
    setups = sorted({spell(record.environment): record.environment for record in bundle.records}.items())
    numbers = {spelling: number for number, (spelling, _) in enumerate(setups)}
    members: dict[str, list[int]] = {record.id: [] for record in bundle.records}
    for number, suite in enumerate(bundle.suites):
        for id_ in suite.runs:
            members[id_].append(number)
    runs = b"".join(
        spell(RunLine.of(record, numbers[spell(record.environment)], members[record.id])) + b"\n"
        for record in bundle.records
    )
    content: dict[str, Any] = {
        **_shared(Submission, bundle),
        "suites": tuple(DeclaredSuite(**_shared(DeclaredSuite, part)) for part in bundle.suites),
        "environments": tuple(Setup(**vars(environment)) for _, environment in setups),
        "records": Seal(len(bundle.records), hashlib.sha256(runs).hexdigest()),
        "checksum": "",
    }
    header = ReferenceHeader(curves=bundle.curves, **content) if bundle.is_reference else BundleHeader(**content)
    return pack(spell(replace(header, checksum=_checksum(header))) + b"\n" + runs)


def pack(text: bytes) -> bytes:
    """Return gzip over `text`; equal texts give equal bytes (with one zlib)."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflate.compress(text) + deflate.flush()
    return _GZIP + body + zlib.crc32(text).to_bytes(4, "little") + len(text).to_bytes(4, "little")


def _parse(name: str, packed: bytes) -> Bundle:
    lines = _unpacked_lines(packed)
    first = next(lines, b"")
    header = _read_line(_REFERENCE if _IS_REFERENCE in first else _HEADER, HEADER, first)
    if header.checksum != _checksum(header):
        raise RefusedError(HEADER, "its checksum does not fit: it was altered after it was written")
    reference = isinstance(header, ReferenceHeader)
    curves = header.curves if isinstance(header, ReferenceHeader) else CURVES
    (check_shipped if reference else check_names)(HEADER, header.methods)
    environments = [Environment(**asdict(setup)) for setup in header.environments]
    digest = hashlib.sha256()
    records: list[RunRecord] = []
    members: list[list[str]] = [[] for _ in header.suites]
    for number, line in enumerate(lines, start=2):
        place = f"line {number}"
        if len(records) == header.records.count:
            raise RefusedError(FILE, f"it has more than the {header.records.count} runs of its header")
        digest.update(line + b"\n")
        run = _read_line(_RUN, place, line)
        if run.environment >= len(environments) or run.suites[-1] >= len(members):
            raise RefusedError(place, "its environment or one of its suites is not in the header")
        record = run.record(environments)
        if run.id != record.id:
            raise RefusedError(place, f"its id {shown(run.id, 13)} is not that of its spec, {record.id[:12]}…")
        if records and record.id <= records[-1].id:
            raise RefusedError(place, "a run is there twice, or runs are not in the order of ids")
        check_run(place, record, header.methods, reference)
        if not record.outcome.history.keys() <= {"step", *curves}:
            raise RefusedError(place, "it has a curve that this bundle does not keep")
        records.append(record)
        for suite in run.suites:
            members[suite].append(record.id)
    if len(records) != header.records.count:
        raise RefusedError(FILE, f"it has {len(records)} of the {header.records.count} runs of its header")
    if digest.hexdigest() != header.records.sha256:
        raise RefusedError(FILE, "the checksum of its runs does not fit: they were altered after they were written")
    unused = set(header.sources) - {record.spec.sources.get("method") for record in records}
    if unused:
        raise RefusedError(HEADER, f"the source {min(unused)[:12]}… belongs to no method of this bundle")
    suites = tuple(
        SubmittedSuite(**vars(part), runs=tuple(ids)) for part, ids in zip(header.suites, members, strict=True)
    )
    return Bundle(
        **_shared(Submission, header),
        name=name,
        sha256=hashlib.sha256(packed).hexdigest(),
        suites=suites,
        curves=curves,
        records=records,
    )


def _read_line(kind: TypeAdapter[LineT], place: str, line: bytes) -> LineT:
    """Read a line that must be spelled as `spell` does.

    So there are no repeated keys, and no numbers that different readers would understand differently.
    """
    try:
        value = kind.validate_json(line)
    except ValidationError as error:
        raise RefusedError(place, complaint(error)) from None
    if spell(value) != line:
        raise RefusedError(place, "it is not in canonical form: a repeated key, a missing null or odd spelling")
    return value


def _checksum(header: AnyHeader) -> str:
    """Return the sha256 of a header without its checksum."""
    return hashlib.sha256(spell({key: value for key, value in vars(header).items() if key != "checksum"})).hexdigest()


def _shared(kind: type, value: object) -> dict[str, Any]:
    """Return the fields of dataclass `kind` in an instance of one derived from it."""
    return {field.name: getattr(value, field.name) for field in fields(kind)}


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


def _unpacked_lines(packed: bytes) -> Iterator[bytes]:
    """Yield the lines inside, without their ends; never more than the limits are in memory."""
    if len(packed) > limits.COMPRESSED_BYTES:
        raise RefusedError(FILE, f"it is larger than {limits.COMPRESSED_BYTES:,} bytes")
    if packed[: len(_GZIP)] != _GZIP:
        raise RefusedError(FILE, "it is not a bundle: it does not start like gzip as mobench writes it")
    rest, first = b"", True
    for chunk in _chunks(packed):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in [*lines, *([rest] if len(rest) > limits.HEADER_BYTES else [])]:
            limit = limits.HEADER_BYTES if first else limits.RECORD_BYTES
            if len(line) > limit:
                raise RefusedError(FILE, f"a line is longer than {limit:,} bytes")
            first = False
            yield line
    if rest:
        raise RefusedError(FILE, "its last line is cut")


def _chunks(packed: bytes) -> Iterator[bytes]:
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
    total, waiting = 0, packed
    while not inflate.eof:
        try:
            chunk = inflate.decompress(waiting, _CHUNK)
        except zlib.error:
            raise RefusedError(FILE, "it is damaged: it cannot be unpacked") from None
        if not chunk and not inflate.eof and not inflate.unconsumed_tail:
            raise RefusedError(FILE, "it is cut: its end is missing")
        waiting = inflate.unconsumed_tail
        total += len(chunk)
        if total > limits.UNPACKED_BYTES:
            raise RefusedError(FILE, f"it unpacks to more than {limits.UNPACKED_BYTES:,} bytes")
        yield chunk
    if inflate.unused_data:
        raise RefusedError(FILE, "something follows after its end")
