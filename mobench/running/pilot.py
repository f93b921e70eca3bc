"""What runs inside a Slurm job: an agent that takes orders from its driver through files, and outlives requeues."""

from __future__ import annotations

import platform
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

from mobench.running.agent import Agent
from mobench.running.environment import environment
from mobench.running.executors.base import Limits
from mobench.running.job import Halted, Lost
from mobench.running.mailbox import Mailbox, News, Order

WATCH_SECONDS = 0.5
"""How often files are looked at."""
IDLE_SECONDS = 60.0
"""A pilot without orders for so long leaves its place to others; so does one whose driver is gone."""


@dataclass(frozen=True)
class Pilot:
    """The callable that submitit runs; it is pickled, so it holds nothing but what a restart needs."""

    folder: Path
    number: int
    limits: Limits
    variables: Mapping[str, str]

    def __call__(self) -> None:
        notice = _Notice()
        agent = Agent(self.limits, self.variables)
        try:
            _Flight(Mailbox(self.folder, self.number), agent, notice).run()
        finally:
            agent.close()
        if notice.requeue and not notice.over:
            notice.hand_over()

    def checkpoint(self) -> Any:
        """Return what is to run after a requeue; submitit asks for it once the state is saved."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


class _Notice:
    """Signals of Slurm, noted when they come and answered when it is safe to do so.

    SIGUSR2 announces the time limit or a preemption: the state is saved and submitit queues the job again. SIGTERM
    means that the job ends now and, if it was preempted or requeued, begins again by itself.
    """

    def __init__(self) -> None:
        self.requeue = self.over = False
        self._submitit: Any = signal.getsignal(signal.SIGUSR2)
        signal.signal(signal.SIGUSR2, self._note)
        signal.signal(signal.SIGTERM, self._note)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    @property
    def given(self) -> bool:
        """Whether this process is about to end."""
        return self.requeue or self.over

    def hand_over(self) -> None:
        """Let submitit queue this job again; that ends the process."""
        self._submitit(signal.SIGUSR2, None)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGUSR2:
            self.requeue = True
        else:
            self.over = True


class _Flight:
    """One life of a pilot, from its start or restart to its end."""

    def __init__(self, mailbox: Mailbox, agent: Agent, notice: _Notice) -> None:
        self._mailbox = mailbox
        self._agent = agent
        self._notice = notice
        self._last = mailbox.news() or News("idle", 0, "", None)
        self._last = replace(self._last, host=platform.node(), version=environment().versions["mobench"])

    def run(self) -> None:
        """Do what is ordered until there is nothing to do, or the place is lost."""
        self._tell(state="idle")
        idle_since = time.monotonic()
        while not self._notice.given and not self._mailbox.is_to_leave():
            order = self._mailbox.order()
            done = self._last.number if self._last.result is not None else self._last.number - 1
            if order is not None and order.number > done:
                if not self._fulfil(order):
                    return
                idle_since = time.monotonic()
            elif time.monotonic() - idle_since > IDLE_SECONDS:
                break
            else:
                time.sleep(WATCH_SECONDS)
        self._notice.requeue = False  # without an order there is nothing to come back for

    def _fulfil(self, order: Order) -> bool:
        """Do a job, and say whether this pilot can go on; if not, its state is saved and the order stays."""
        self._tell(state="busy", number=order.number, result=None, steps=None)
        self._agent.begin(order.job, order.plugins)
        asked = False
        while (result := self._agent.poll(WATCH_SECONDS)) is None:
            if not asked and (self._notice.given or self._mailbox.is_to_stop(order.number)):
                asked = True
                self._agent.ask_to_stop()
            if self._mailbox.is_to_leave():
                self._notice.over = True
                return False
            if self._agent.steps != self._last.steps:
                self._tell(steps=self._agent.steps)
        killed = isinstance(result, Lost) and result.cause == "killed"  # signals of Slurm reach all processes of a job
        if self._notice.given and (killed or isinstance(result, Halted)):
            self._tell(state="queued again")
            return False
        self._tell(state="idle", result=result)
        return True

    def _tell(self, **changed: Any) -> None:
        self._last = replace(self._last, **changed)
        self._mailbox.tell(self._last)
