"""The first line of a bundle: who submits what, and the checksums of everything."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mobench.store.record import Environment
from mobench.submissions import limits
from mobench.submissions.entry import Entry, is_number, plain_text, settings
from mobench.submissions.form import KIND, SCHEMA, Bundle, Settings, SubmittedMethod
from mobench.submissions.text import RefusedError, spell

FIELDS = (
    "kind", "schema", "mobench", "by", "contact", "notes", "methods", "suites", "environments", "sources", "records",
    "checksum",
)  # fmt: skip
PLACE = "the manifest (line 1)"


@dataclass(frozen=True)
class Declared:
    """A suite of the manifest; which runs belong to it, the runs say."""

    suite: str
    profile: str
    definition: Mapping[str, Any]
    sweeps: Mapping[str, tuple[Settings, ...]]


@dataclass(frozen=True)
class Manifest:
    """What the first line says."""

    mobench: str
    by: str
    contact: str
    notes: str
    methods: tuple[SubmittedMethod, ...]
    suites: tuple[Declared, ...]
    environments: tuple[Environment, ...]
    sources: Mapping[str, str]
    records: int
    digest: str
    """sha256 of all lines after the first."""


def manifest_as_json(bundle: Bundle, digest: str) -> dict[str, Any]:
    """Return the first line of a bundle; its checksum is the sha256 of the line without it."""
    body = {
        "kind": KIND,
        "schema": SCHEMA,
        "mobench": bundle.mobench,
        "by": bundle.by,
        "contact": bundle.contact,
        "notes": bundle.notes,
        "methods": [asdict(method) for method in bundle.methods],
        "suites": [
            {"suite": part.suite, "profile": part.profile, "definition": part.definition, "sweeps": part.sweeps}
            for part in bundle.suites
        ],
        "environments": [asdict(environment) for environment in bundle.environments],
        "sources": dict(bundle.sources),
        "records": {"count": len(bundle.records), "sha256": digest},
    }
    return {**body, "checksum": checksum(body)}


def checksum(body: Mapping[str, Any]) -> str:
    """Return the sha256 of a manifest without its checksum."""
    return hashlib.sha256(spell({key: value for key, value in body.items() if key != "checksum"})).hexdigest()


def read_manifest(value: object) -> Manifest:
    """Check and return the first line."""
    head = Entry(PLACE, value)
    if not isinstance(value, dict) or value.get("kind") != KIND:
        raise RefusedError(PLACE, f"it is not the first line of a bundle: kind is not {KIND}")
    if value.get("schema") != SCHEMA:
        raise RefusedError(PLACE, f"its schema is not {SCHEMA}, the one this mobench reads")
    head = Entry(PLACE, value, FIELDS)
    if head.match("checksum", limits.DIGEST, "a sha256") != checksum(value):
        raise RefusedError(PLACE, "its checksum does not fit: it was altered after it was written")
    records = head.inside("records", ("count", "sha256"))
    by = head.text("by", limits.BY)
    if not by.strip():
        raise RefusedError(PLACE, "by is empty; it names who submits")
    suites = tuple(
        _suite(Entry(f"{PLACE}, suite {number}", part, ("suite", "profile", "definition", "sweeps")))
        for number, part in enumerate(head.array("suites", limits.SUITES))
    )
    methods = tuple(
        _method(Entry(f"{PLACE}, method {number}", part, ("name", "version", "source")))
        for number, part in enumerate(head.array("methods", limits.METHODS))
    )
    for kind, names in (
        ("suite", [(part.suite, part.profile) for part in suites]),
        ("method", [m.name for m in methods]),
    ):
        if not names or len(set(names)) != len(names):
            raise RefusedError(PLACE, f"every {kind} has to be there once, and there must be one")
    return Manifest(
        mobench=head.text("mobench", 64),
        by=by,
        contact=head.text("contact", limits.CONTACT),
        notes=head.text("notes", limits.NOTES),
        methods=methods,
        suites=suites,
        environments=tuple(
            _environment(Entry(f"{PLACE}, environment {number}", part, ("versions", "hardware", "code")))
            for number, part in enumerate(head.array("environments", limits.ENVIRONMENTS))
        ),
        sources=_sources(head.inside("sources")),
        records=records.integer("count", 1, limits.RECORDS),
        digest=records.match("sha256", limits.DIGEST, "a sha256"),
    )


def _method(entry: Entry) -> SubmittedMethod:
    return SubmittedMethod(
        name=entry.match(
            "name", limits.METHOD_NAME, "a name of at most 32 small letters, digits and single '-' or '_'"
        ),
        version=entry.integer("version", high=9999),
        source=None if entry.raw("source") is None else entry.match("source", limits.DIGEST, "a sha256"),
    )


def _suite(entry: Entry) -> Declared:
    sweeps = {}
    for name, points in entry.inside("sweeps").items(limits.METHOD_NAME, "a method's name", limits.METHODS):
        if not isinstance(points, list) or not 1 <= len(points) <= limits.SWEEP:
            raise RefusedError(entry.place, f"the sweep of {name} is not a list of 1 to {limits.SWEEP} configurations")
        place = f"{entry.place}, sweep of {name}"
        sweeps[name] = tuple(settings(place, point) for point in points)
        if len({spell(point) for point in points}) != len(points):
            raise RefusedError(place, "a configuration is there twice")
    definition = entry.inside("definition")
    _check_texts(definition.place, entry.raw("definition"))
    return Declared(
        suite=entry.match("suite", limits.SUITE_NAME, "a suite's name"),
        profile=entry.match("profile", limits.SUITE_NAME, "a profile's name"),
        definition=entry.raw("definition"),
        sweeps=sweeps,
    )


def _check_texts(place: str, value: Any) -> None:
    """Check all texts of a nested value."""
    if isinstance(value, str):
        plain_text(place, value)
    elif isinstance(value, dict):
        for key, item in value.items():
            plain_text(place, key)
            _check_texts(place, item)
    elif isinstance(value, list):
        for item in value:
            _check_texts(place, item)


def _environment(entry: Entry) -> Environment:
    versions: dict[str, str | None] = {}
    for key, value in entry.inside("versions").items(limits.SETTING_NAME, "a library's name", 32):
        versions[key] = None if value is None else plain_text(f"{entry.place}, {key}", value, 64)
    hardware: dict[str, Any] = {}
    for key, value in entry.inside("hardware").items(limits.SETTING_NAME, "a property's name", 32):
        number = value is None or isinstance(value, bool) or is_number(value)
        hardware[key] = value if number else plain_text(f"{entry.place}, {key}", value, 200)
    if entry.raw("code") is None:
        return Environment(versions, hardware, None)
    code = entry.inside("code", ("commit", "dirty"))
    if not isinstance(code.raw("dirty"), bool):
        raise code.refuse("dirty", "true or false")
    return Environment(versions, hardware, {"commit": code.text("commit", 64), "dirty": code.raw("dirty")})


def _sources(entry: Entry) -> dict[str, str]:
    found = {}
    for digest, _ in entry.items(limits.DIGEST, "a sha256", limits.METHODS):
        text = entry.text(digest, limits.SOURCE, also="\n\r\t")
        if hashlib.sha256(text.encode()).hexdigest() != digest:
            raise RefusedError(entry.place, f"the text under {digest[:12]}… has another sha256")
        found[digest] = text
    return found
