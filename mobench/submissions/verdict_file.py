"""What came of repeating runs of reference bundles, as a file that is kept with them.

A verdict belongs to one content of one bundle: it counts as long as the bundle's file has the sha256 that it names. It
is the word of those who maintain the bundles. So it is shown, and ranks nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import orjson
from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError

from mobench.errors import UserError
from mobench.running.environment import environment
from mobench.store.atomic import write_atomically
from mobench.store.validation import complaint
from mobench.submissions import accepted, limits
from mobench.submissions.bundle import Bundle
from mobench.submissions.verdict import Verdict

SHOWN = 12
"""So many digits of a run's id are kept, as many as the site shows."""


@dataclass(frozen=True)
class KeptVerdict:
    """What came of repeating runs of one reference bundle."""

    bundle: Annotated[str, accepted.text(255)]
    """The file's name."""
    sha256: accepted.Digest
    """Of the file."""
    equal: Literal["to the last bit", "within a tolerance"]
    """How closely the repeated runs agree with those of the bundle."""
    repeated: Annotated[tuple[str, ...], Field(min_length=1, max_length=limits.RECORDS, strict=False)]
    """The first digits of the ids of the repeated runs."""
    runs: Annotated[int, Field(ge=1, le=limits.RECORDS)]
    """How many runs they were drawn from."""
    mobench: Annotated[str, accepted.text(64)]
    """The version that repeated them."""
    commit: Annotated[str, accepted.text(64)]
    """Its commit, empty where it is not known."""
    cpu: Annotated[str, accepted.text(200)]
    """The processor on which they were repeated."""
    day: Annotated[str, AfterValidator(lambda text: datetime.strptime(text, "%Y-%m-%d").strftime("%Y-%m-%d"))]
    """When they were repeated."""

    @classmethod
    def of(cls, bundle: Bundle, verdicts: Iterable[Verdict], repeated: Iterable[str]) -> KeptVerdict:
        """Return what is kept of the verdicts on a reference bundle, of which the runs with these ids were repeated."""
        here = environment()
        code = here.code or {}
        proven = all(verdict.proven for verdict in verdicts if verdict.repeated)
        return cls(
            bundle=bundle.name,
            sha256=bundle.sha256,
            equal="to the last bit" if proven else "within a tolerance",
            repeated=tuple(sorted(id_[:SHOWN] for id_ in repeated)),
            runs=len(bundle.records),
            mobench=version("mobench"),
            commit=f"{str(code.get('commit', ''))[:SHOWN]}{' with changes' if code.get('dirty') else ''}",
            cpu=str(here.hardware["cpu"]),
            day=datetime.now(UTC).strftime("%Y-%m-%d"),
        )

    def words(self, ids: Collection[str]) -> str:
        """Return the verdict on these runs of the bundle, for people; empty where none of them was repeated."""
        repeated = {id_[:SHOWN] for id_ in ids}.intersection(self.repeated)
        if not repeated:
            return ""
        code = f"mobench {self.mobench}{f', commit {self.commit}' if self.commit else ''}"
        return f"{len(repeated)} of {len(ids)} runs repeated, equal {self.equal} ({code}, {self.day})"


@dataclass(frozen=True)
class VerdictFile:
    """The file."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(strict=True, extra="forbid")

    bundles: Annotated[tuple[KeptVerdict, ...], Field(strict=False)]


_FILE = TypeAdapter(VerdictFile)


def read_verdicts(path: Path) -> dict[str, KeptVerdict]:
    """Return the verdicts in a file by the sha256 of their bundles."""
    try:
        found = _FILE.validate_json(path.read_bytes())
    except OSError as error:
        raise UserError(f"verdicts={path}: it cannot be read: {error.strerror}") from None
    except ValidationError as error:
        raise UserError(f"verdicts={path}: {complaint(error)}") from None
    return {verdict.sha256: verdict for verdict in found.bundles}


def write_verdicts(path: Path, looked_at: Mapping[str, KeptVerdict | None]) -> None:
    """Write the verdicts on bundles, by file name, into a file; those on other bundles stay as they are.

    None takes away what the file says of a bundle.
    """
    before = {verdict.bundle: verdict for verdict in read_verdicts(path).values()} if path.exists() else {}
    now = {name: verdict for name, verdict in {**before, **looked_at}.items() if verdict is not None}
    kept = VerdictFile(tuple(verdict for _, verdict in sorted(now.items())))
    write_atomically(path, orjson.dumps(kept, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE), sync=False)
