"""What a driver says about itself while it runs: root/status/<owner>.json, for `mobench status` anywhere.

The file is replaced about once a second, whole at every instant, and removed when the driver ends. Whether its
driver lives is said by the heartbeat of its file in `leases`, see `lease`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import orjson
from pydantic import TypeAdapter, ValidationError

from mobench.store import lease
from mobench.store.atomic import write_atomically
from mobench.store.lease import Owner

State = Literal["alive", "silent", "died"]


@dataclass(frozen=True)
class RunningJob:
    """Runs that train in lockstep, or a single one."""

    id: str
    """The id of its first run."""
    label: str
    runs: int
    started: float
    """When it began, in seconds since 1970."""
    host: str = ""
    """Where it trains; empty until it has said so."""
    step: int = 0
    total: int = 0
    """0 while it has not said how far it is."""
    steps_per_second: float = 0.0


@dataclass(frozen=True)
class DriverStatus:
    """One driver and what it does."""

    owner: Owner
    begun: float
    updated: float
    """When this was written, by the driver's clock."""
    planned: int
    """The runs that it was started for, those that other drivers do included."""
    done: int
    failed: int
    seconds_left: float | None
    jobs: tuple[RunningJob, ...] = ()

    def save(self, root: Path) -> None:
        """Publish it."""
        write_atomically(_path(root, self.owner.owner), orjson.dumps(asdict(self)), sync=False)


_STATUS = TypeAdapter(DriverStatus)


def withdraw(root: Path, owner: str) -> None:
    """Remove what a driver published."""
    _path(root, owner).unlink(missing_ok=True)


def published(root: Path) -> Iterator[tuple[DriverStatus, State]]:
    """Yield what drivers say, with whether they live; what cannot be read is passed over."""
    alive = {owner.owner: owner for owner in lease.drivers(root)}
    for path in sorted((root / "status").glob("[!.]*.json")):
        try:
            status = _STATUS.validate_python(orjson.loads(path.read_bytes()), strict=False)
        except (OSError, ValueError, ValidationError):
            continue
        owner = alive.get(status.owner.owner)
        if owner is None or owner.is_over:
            yield status, "died"
        else:
            yield status, "silent" if owner.is_silent else "alive"


def sweep(root: Path) -> None:
    """Delete what drivers published that are over. The leases of such drivers are swept before."""
    alive = {owner.owner for owner in lease.drivers(root)}
    for path in (root / "status").glob("[!.]*.json"):
        if path.stem not in alive:
            path.unlink(missing_ok=True)


def _path(root: Path, owner: str) -> Path:
    return root / "status" / f"{owner}.json"
