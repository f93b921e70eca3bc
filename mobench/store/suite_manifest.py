"""Which runs belong to a suite: the union of everything planned under it."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError

from mobench.errors import UserError
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
class SuiteManifest:
    """The runs of one suite under one profile."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    schema: Literal[1]
    suite: str
    profile: str
    definition: dict[str, Any]
    """The suite as it was when runs were last added."""
    runs: tuple[str, ...]
    """Run ids in sorted order."""

    @classmethod
    def read(cls, path: Path) -> SuiteManifest:
        """Restore a manifest; what is no manifest is an error that names the file."""
        try:
            return _MANIFEST.validate_python(orjson.loads(path.read_bytes()))
        except ValueError as error:
            reason = complaint(error) if isinstance(error, ValidationError) else str(error)
            raise UserError(f"{path} is not a whole manifest: {reason}; move it away and plan again") from error


_MANIFEST = TypeAdapter(SuiteManifest)


def add_runs(folder: Path, suite: Suite, ids: Iterable[str]) -> None:
    """Add `ids` to the suite's manifest; several processes, on several machines, may do so at once."""
    path = _path(folder, suite.name, suite.profile)
    definition = json.loads(json.dumps(vars(suite), default=vars))
    wanted = set(ids)
    turn = hashlib.sha256(f"manifest {path.name}".encode()).hexdigest()
    with Leases(folder.parent) as leases:
        while True:
            if not leases.acquire(turn):
                time.sleep(TURN_SECONDS)
                continue
            known = set(SuiteManifest.read(path).runs) if path.exists() else set()
            manifest = SuiteManifest(1, suite.name, suite.profile, definition, tuple(sorted(known | wanted)))
            write_atomically(path, json.dumps(vars(manifest), indent=1).encode(), sync=True)
            leases.release(turn)
            if wanted <= set(SuiteManifest.read(path).runs):  # nobody who was stopped in his turn wrote over it
                return


def read_all(folder: Path) -> list[SuiteManifest]:
    """Return every manifest in `folder`, sorted by suite and profile."""
    found = [SuiteManifest.read(path) for path in folder.glob("[!.]*.json")]
    return sorted(found, key=lambda manifest: (manifest.suite, manifest.profile))


def _path(folder: Path, suite: str, profile: str) -> Path:
    for key, value, pattern in (("suite", suite, _SUITE), ("profile", profile, _PROFILE)):
        if not pattern.fullmatch(value):
            raise UserError(f"{key}={value} cannot name a file; use letters, digits, '-' and '_'")
    return folder / f"{suite}.{profile}.json"
