"""Which runs belong to a suite: the union of everything planned under it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from filelock import FileLock

from mobench.errors import UserError
from mobench.store.atomic import write_atomically

if TYPE_CHECKING:
    from mobench.planning.suite import Suite

SCHEMA = 1
_SUITE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_PROFILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class Manifest:
    """The runs of one suite under one profile."""

    suite: str
    profile: str
    definition: dict[str, Any]
    """The suite as it was when runs were last added."""
    runs: tuple[str, ...]
    """Run ids in sorted order."""

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Restore a manifest; what is no manifest is an error that names the file."""
        try:
            data = orjson.loads(path.read_bytes())
            if data["schema"] != SCHEMA:
                raise ValueError(f"its schema is {data['schema']}; this mobench reads schema {SCHEMA}")
            return cls(data["suite"], data["profile"], data["definition"], tuple(data["runs"]))
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path} is not a whole manifest: {error}; move it away and plan again") from error


def add_runs(folder: Path, suite: Suite, ids: Iterable[str]) -> None:
    """Add `ids` to the suite's manifest; several processes may do so at once."""
    path = _path(folder, suite.name, suite.profile)
    folder.mkdir(parents=True, exist_ok=True)
    definition = json.loads(json.dumps(asdict(suite), default=str))
    with FileLock(path.with_name(f".{path.name}.lock")):
        known = Manifest.read(path).runs if path.exists() else ()
        manifest = Manifest(suite.name, suite.profile, definition, tuple(sorted({*known, *ids})))
        text = json.dumps({"schema": SCHEMA, **asdict(manifest)}, indent=1)
        write_atomically(path, text.encode(), sync=True)


def read_all(folder: Path) -> list[Manifest]:
    """Return every manifest in `folder`, sorted by suite and profile."""
    found = [Manifest.read(path) for path in folder.glob("[!.]*.json")]
    return sorted(found, key=lambda manifest: (manifest.suite, manifest.profile))


def _path(folder: Path, suite: str, profile: str) -> Path:
    for key, value, pattern in (("suite", suite, _SUITE), ("profile", profile, _PROFILE)):
        if not pattern.fullmatch(value):
            raise UserError(f"{key}={value} cannot name a file; use letters, digits, '-' and '_'")
    return folder / f"{suite}.{profile}.json"
