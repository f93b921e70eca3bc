"""What an execution tells while it goes on, and what it returns at its end."""

from __future__ import annotations

from dataclasses import dataclass, field

from mobench.core.outcome import Status


@dataclass(frozen=True)
class Started:
    """A group of runs began to train."""

    runs: int


@dataclass(frozen=True)
class FinishedRun:
    """A run that has its record."""

    id: str
    label: str
    """Method, problem and seed, for people."""
    status: Status
    reason: str
    """The last line of the error; empty for a run that is done."""
    work: float
    """The run's share of the expected work."""


@dataclass(frozen=True)
class Finished:
    """Runs of one group have their records."""

    runs: tuple[FinishedRun, ...]


@dataclass(frozen=True)
class Split:
    """A group was lost; its unfinished runs are queued again, one by one."""

    runs: int
    reason: str
    again: bool = False
    """Whether they stay together and go on where they were; without a reason there is nothing to tell."""


Event = Started | Finished | Split


@dataclass
class Tally:
    """The end of an execution."""

    planned: int
    done: int = 0
    failures: list[FinishedRun] = field(default_factory=list)
    seconds: float = 0.0
    signal: int | None = None
    """The signal that ended it early, e.g. `signal.SIGINT`."""

    @property
    def failed(self) -> int:
        """How many runs failed."""
        return len(self.failures)

    @property
    def interrupted(self) -> bool:
        """Whether a signal ended the execution before all runs were finished."""
        return self.signal is not None
