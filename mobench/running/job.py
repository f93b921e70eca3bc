"""What a worker is given to do, and what comes back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Literal

from mobench.core.outcome import Outcome, Status
from mobench.core.spec import RunSpec
from mobench.store.folder import Stamp
from mobench.store.lease import Fence
from mobench.store.record import Environment

Train = Callable[[Sequence[RunSpec], Path | None], Sequence[Outcome]]
"""Trains runs in lockstep, with a file for their state."""
Group = Sequence[RunSpec]
"""Runs that train in lockstep: of one method, so that what a step costs is shared by calls that all are of its kind."""


@dataclass(frozen=True)
class Job:
    """Groups of runs to train one after the other, each in lockstep."""

    groups: tuple[tuple[RunSpec, ...], ...]
    root: Path
    train: Train | str
    """The training function, or where it is: `package.module:function`."""
    environment: Environment
    plugins: tuple[str, ...] = ()
    """The files of the plugins that these runs need, and no others."""
    stamps: Mapping[str, Stamp | None] = field(default_factory=dict)
    """The records that the runs had when they were planned, by id."""
    fence: Fence | None = None
    """Says whether the driver still has a run; without one nobody else is at work."""
    alone: bool = False
    """Whether nothing else may use its device meanwhile: memory ran out when it had company."""
    jobs_per_gpu: int = 1
    """How many jobs may share its GPU."""
    uses_device: bool = True
    """Whether its problems compute on a device, as `Problem.uses_device` says; if not, it sees no GPU."""

    @cached_property
    def specs(self) -> tuple[RunSpec, ...]:
        """All its runs."""
        return tuple(chain.from_iterable(self.groups))

    def only(self, ids: Collection[str]) -> tuple[tuple[RunSpec, ...], ...]:
        """Return the groups with these runs alone; empty ones are left out."""
        kept = (tuple(spec for spec in group if spec.id in ids) for group in self.groups)
        return tuple(group for group in kept if group)

    @property
    def foreign(self) -> bool:
        """Whether code runs that does not ship with mobench."""
        return any(spec.sources for spec in self.specs)


@dataclass(frozen=True)
class Steps:
    """How far a job is: what a worker reports while it trains, at most about twice a second."""

    step: int
    """Steps taken."""
    total: int
    first: int
    """Steps that were taken before this worker began: a checkpoint's."""
    seconds: float
    """How long this worker has been training."""
    host: str
    """Where it does so."""

    @property
    def rate(self) -> float:
        """Steps per second of this worker."""
        return (self.step - self.first) / self.seconds if self.seconds > 0 else 0.0


OnSteps = Callable[[Steps], None]
"""Takes a worker's reports, in the worker's process and in the middle of training: it has to be quick."""


@dataclass(frozen=True)
class Summary:
    """What the scheduling process wants to know about a finished run."""

    id: str
    status: Status
    reason: str


@dataclass(frozen=True)
class Lost:
    """A job that ended without records for all of its runs."""

    reason: str
    trace: str = ""
    cause: Literal["fault", "memory", "killed", "device", "no device"] = "fault"
    """`fault`: the runs' own doing; `memory`: it ran out; `killed`: from outside, or the machine is gone.

    `device`: the device failed while the runs used it; `no device`: before they began.
    """
    resumable: bool = False
    """Whether a checkpoint is worth keeping although the run counts as failed: it was merely too slow."""
    further: bool = False
    """Whether it came further before its device failed: a run was finished, or the state of one saved."""
    closed: str = ""
    """The device on which nothing is begun any more after this; empty where it stays open."""

    @property
    def of_device(self) -> bool:
        """Whether the device failed: in the process that used it, every later call would too."""
        return self.cause in ("device", "no device")

    @property
    def error(self) -> str:
        """Everything known, and like in a traceback the point comes last."""
        return f"{self.trace.rstrip()}\n{self.reason}" if self.trace.strip() else self.reason


@dataclass(frozen=True)
class Halted:
    """A job that saved its state and stopped, because it was asked to."""


@dataclass(frozen=True)
class Broken:
    """A job whose results could not be stored: nothing more can be, and the runs are not to blame."""

    reason: str


Result = list[Summary] | Lost | Halted | Broken
