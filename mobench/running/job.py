"""What a worker is given to do, and what comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from mobench.core.outcome import Outcome, Status
from mobench.core.spec import RunSpec
from mobench.store.folder import Stamp
from mobench.store.lease import Fence
from mobench.store.record import Environment

Train = Callable[[Sequence[RunSpec], Path | None], Sequence[Outcome | None]]
"""Trains runs in lockstep; None stands for one that left because the others would have waited for it."""


@dataclass(frozen=True)
class Job:
    """A group of runs to train in lockstep."""

    specs: tuple[RunSpec, ...]
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
    cause: Literal["fault", "memory", "killed"] = "fault"
    """`fault`: the runs' own doing; `memory`: it ran out; `killed`: from outside, or the machine is gone."""
    resumable: bool = False
    """Whether a checkpoint is worth keeping although the run counts as failed: it was merely too slow."""

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
