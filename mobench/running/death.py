"""How a process ended that was to answer."""

from __future__ import annotations

import signal
from dataclasses import dataclass

FROM_OUTSIDE = {signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT}
"""Signals that nobody's code causes by accident."""


@dataclass(frozen=True)
class Death:
    """A process that ended without an answer."""

    code: int | None
    """Its exit code; negative: the signal that killed it."""
    memory: bool = False
    """Whether the system killed a process meanwhile because memory ran out."""

    @property
    def from_outside(self) -> bool:
        """Whether something else than the process's own code is the likely cause."""
        return self.code is None or -self.code in FROM_OUTSIDE

    def __str__(self) -> str:
        if self.code is None:
            return "the worker process vanished"
        if self.code >= 0:
            return f"the worker process ended with exit code {self.code} in the middle of the run"
        name = signal.Signals(-self.code).name if -self.code in signal.valid_signals() else f"signal {-self.code}"
        hint = "; the usual cause is that memory ran out" if -self.code == signal.SIGKILL else ""
        return f"the worker process was killed by {name}{hint}"
