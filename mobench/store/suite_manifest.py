"""Which runs belong to a suite: everything planned under it, experiment by experiment."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import orjson
from filelock import FileLock
from pydantic import ConfigDict, TypeAdapter, ValidationError

from mobench.errors import UserError
from mobench.planning.experiment import Experiment, difference
from mobench.store.atomic import write_atomically
from mobench.store.validation import complaint

if TYPE_CHECKING:
    from mobench.planning.suite import Suite

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
    unsorted: tuple[str, ...] = field(default=())
    """Runs from before manifests told experiments apart: the first schema had no other."""

    @cached_property
    def runs(self) -> tuple[str, ...]:
        """All run ids in sorted order; experiments may share some."""
        return tuple(sorted({*self.unsorted, *(id_ for planned in self.experiments for id_ in planned.runs)}))

    @classmethod
    def read(cls, path: Path) -> SuiteManifest:
        """Restore a manifest; what is no manifest is an error that names the file."""
        try:
            stored = orjson.loads(path.read_bytes())
            if isinstance(stored, dict) and stored.get("schema") == 1 and "runs" in stored:
                stored = {**stored, "schema": 2, "unsorted": stored["runs"]}
                del stored["runs"]
            return _MANIFEST.validate_python(stored)
        except ValueError as error:
            reason = complaint(error) if isinstance(error, ValidationError) else str(error)
            raise UserError(f"{path} is not a whole manifest: {reason}; move it away and plan again") from error


_MANIFEST = TypeAdapter(SuiteManifest)


def add_runs(folder: Path, suite: Suite, ids: Iterable[str], base: Suite) -> None:
    """Add `ids`, planned with `suite`, to the manifest of `base`, the suite as its file has it.

    Several processes may do so at once.
    """
    path = _path(folder, base.name, base.profile)
    folder.mkdir(parents=True, exist_ok=True)
    definition = json.loads(json.dumps(vars(base), default=vars))
    own = Experiment.of(base)
    planned = Experiment.of(suite)
    wanted = difference(planned, own).parts
    with FileLock(path.with_name(f".{path.name}.lock")):
        known = SuiteManifest.read(path) if path.exists() else None
        experiments: list[PlannedRuns] = []
        runs = set(ids)
        for part in known.experiments if known else ():
            if difference(part.experiment, own).parts == wanted:
                runs |= {*part.runs}
            else:
                experiments.append(part)
        experiments.append(PlannedRuns(planned.within(own), tuple(sorted(runs))))
        unsorted = tuple(id_ for id_ in known.unsorted if id_ not in runs) if known else ()
        manifest = SuiteManifest(2, base.name, base.profile, definition, tuple(experiments), unsorted)
        write_atomically(path, json.dumps(asdict(manifest), indent=1).encode(), sync=True)


def read_all(folder: Path) -> list[SuiteManifest]:
    """Return every manifest in `folder`, sorted by suite and profile."""
    found = [SuiteManifest.read(path) for path in folder.glob("[!.]*.json")]
    return sorted(found, key=lambda manifest: (manifest.suite, manifest.profile))


def _path(folder: Path, suite: str, profile: str) -> Path:
    for key, value, pattern in (("suite", suite, _SUITE), ("profile", profile, _PROFILE)):
        if not pattern.fullmatch(value):
            raise UserError(f"{key}={value} cannot name a file; use letters, digits, '-' and '_'")
    return folder / f"{suite}.{profile}.json"
