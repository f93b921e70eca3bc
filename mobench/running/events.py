"""What an execution tells while it goes on, and what it returns at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mobench.core.outcome import Status
from mobench.core.spec import RunSpec
from mobench.running.job import Steps


@dataclass(frozen=True)
class Started:
    """A job began."""

    runs: int
    job: str = ""
    """The id of its first run; empty where the runs were done by another driver and are only counted."""
    label: str = ""
    """What it trains, for people."""


@dataclass(frozen=True)
class Stepped:
    """A job came further."""

    job: str
    runs: int
    work: float
    """The job's expected seconds."""
    steps: Steps


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
    """The run's expected seconds."""


@dataclass(frozen=True)
class Finished:
    """Runs of one job have their records."""

    runs: tuple[FinishedRun, ...]
    job: str = ""


@dataclass(frozen=True)
class Split:
    """A job was lost; its unfinished groups are queued again one by one, then their runs."""

    runs: int
    reason: str
    again: bool = False
    """Whether they stay together and go on where they were; without a reason there is nothing to tell."""
    job: str = ""


@dataclass(frozen=True)
class Closed:
    """Nothing more is begun on a device."""

    device: str
    reason: str
    """What went wrong there last."""


Event = Started | Stepped | Finished | Split | Closed


def label_of(specs: Sequence[RunSpec]) -> str:
    """Name runs for people: method, problem and seed, or how many of which methods and problems."""
    first = specs[0]
    if len(specs) == 1:
        return f"{first.method} on {first.problem}, seed {first.seed}"
    methods = list(dict.fromkeys(spec.method for spec in specs))
    problems = list(dict.fromkeys(spec.problem for spec in specs))
    return f"{len(specs)} runs of {_first_few(methods)} on {_first_few(problems)}"


def _first_few(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 2 else f"{names[0]} and {len(names) - 1} more"


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
