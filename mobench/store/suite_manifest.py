"""Which runs belong to a suite: everything planned under it, experiment by experiment."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError

from mobench.errors import UserError
from mobench.planning.experiment import Experiment, difference
from mobench.store.atomic import write_atomically
from mobench.store.lease import Leases
from mobench.store.validation import complaint

if TYPE_CHECKING:
    from mobench.planning.suite import Suite

TURN_SECONDS = 0.02
"""How often a process looks whether it is its turn to write."""

_SUITE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_PROFILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class PlannedRuns:
    """The runs that were planned in one experiment."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    experiment: Experiment
    runs: tuple[str, ...]
    """Run ids in sorted order."""


@dataclass(frozen=True)
class SuiteManifest:
    """The runs of one suite under one profile."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    schema: Literal[2]
    suite: str
    profile: str
    definition: dict[str, Any]
    """The suite as its file was when runs were last added."""
    experiments: tuple[PlannedRuns, ...] = ()
    plugins: tuple[str, ...] = ()
    """The files and folders of plugins that runs were planned with."""

    @cached_property
    def runs(self) -> tuple[str, ...]:
        """All run ids in sorted order; experiments may share some."""
        return tuple(sorted({id_ for planned in self.experiments for id_ in planned.runs}))

    @classmethod
    def read(cls, path: Path) -> SuiteManifest:
        """Restore a manifest; what is no manifest is an error that names the file."""
        try:
            return _MANIFEST.validate_python(orjson.loads(path.read_bytes()))
        except ValueError as error:
            reason = complaint(error) if isinstance(error, ValidationError) else str(error)
            raise UserError(f"{path} is not a whole manifest: {reason}; move it away and plan again") from error


_MANIFEST = TypeAdapter(SuiteManifest)


def add_runs(folder: Path, suite: Suite, ids: Iterable[str], base: Suite, plugins: Iterable[str] = ()) -> None:
    """Add `ids`, planned with `suite`, to the manifest of `base`, the suite as its file has it.

    Several processes, on several machines, may do so at once.
    """
    path = _path(folder, base.name, base.profile)
    definition = json.loads(json.dumps(base, default=vars))
    wanted = set(ids)
    turn = hashlib.sha256(f"manifest {path.name}".encode()).hexdigest()
    with Leases(folder.parent) as leases:
        while True:
            if not leases.acquire(turn):
                time.sleep(TURN_SECONDS)
                continue
            known = SuiteManifest.read(path) if path.exists() else None
            experiments = _with_runs(
                known.experiments if known else (), wanted, Experiment.of(suite), Experiment.of(base)
            )
            named = tuple(sorted({*(known.plugins if known else ()), *plugins}))
            manifest = SuiteManifest(2, base.name, base.profile, definition, experiments, named)
            write_atomically(path, json.dumps(asdict(manifest), indent=1).encode(), sync=True)
            leases.release(turn)
            if wanted <= set(SuiteManifest.read(path).runs):  # nobody who was stopped in his turn wrote over it
                return


def _with_runs(
    known: Iterable[PlannedRuns], wanted: set[str], experiment: Experiment, profile: Experiment
) -> tuple[PlannedRuns, ...]:
    """Return the known experiments with runs added to one of them, or with a new one."""
    parts = difference(experiment, profile).parts
    same: list[PlannedRuns] = []
    others: list[PlannedRuns] = []
    for planned in known:
        (same if difference(planned.experiment, profile).parts == parts else others).append(planned)
    runs = wanted.union(*(planned.runs for planned in same))
    return (*others, PlannedRuns(experiment.within(profile), tuple(sorted(runs))))


def read_all(folder: Path) -> list[SuiteManifest]:
    """Return every manifest in `folder`, sorted by suite and profile."""
    found = [SuiteManifest.read(path) for path in folder.glob("[!.]*.json")]
    return sorted(found, key=lambda manifest: (manifest.suite, manifest.profile))


def _path(folder: Path, suite: str, profile: str) -> Path:
    for key, value, pattern in (("suite", suite, _SUITE), ("profile", profile, _PROFILE)):
        if not pattern.fullmatch(value):
            raise UserError(f"{key}={value} cannot name a file; use letters, digits, '-' and '_'")
    return folder / f"{suite}.{profile}.json"
