"""What a bundle holds.

On disk it is gzip over lines of JSON: first the manifest, then one line per run in the order of ids.
`zcat FILE | head -1 | python -m json.tool` shows the manifest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mobench.store.record import Environment, RunRecord

KIND = "mobench-bundle"
SCHEMA = 1
"""Raised when the layout of a bundle changes."""

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class SubmittedMethod:
    """A method with results in the bundle."""

    name: str
    version: int
    source: str | None
    """sha256 of the plugin's file, None for a method that ships with mobench."""

    @property
    def label(self) -> str:
        """Name and version as specs spell them."""
        return f"{self.name}@{self.version}"


@dataclass(frozen=True)
class SubmittedSuite:
    """The runs of one suite under one profile."""

    suite: str
    profile: str
    definition: Mapping[str, Any]
    """Problems, seeds, training and metrics of the suite when the bundle was written."""
    sweeps: Mapping[str, tuple[Settings, ...]]
    """Method name → every configuration that was tried, as its submitter declares."""
    runs: tuple[str, ...]
    """Ids in sorted order."""

    @property
    def label(self) -> str:
        """Suite and profile for people."""
        return f"{self.suite} ({self.profile})"


@dataclass(frozen=True)
class Bundle:
    """A submission. Texts are as the submitter wrote them: plain characters, but not escaped for HTML."""

    name: str
    """The file's name."""
    mobench: str
    """The version of mobench that wrote the bundle."""
    by: str
    contact: str
    notes: str
    methods: tuple[SubmittedMethod, ...]
    suites: tuple[SubmittedSuite, ...]
    environments: tuple[Environment, ...]
    sources: Mapping[str, str]
    """sha256 → source of a plugin, for people to read. It is never run."""
    records: list[RunRecord]
    """In the order of ids. Curves are thinned and errors cut to one line, see `mobench.submissions.thinning`."""

    @property
    def method_names(self) -> tuple[str, ...]:
        """The names of the submitted methods."""
        return tuple(method.name for method in self.methods)
