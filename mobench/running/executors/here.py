"""Jobs in this very process, one after the other: for debuggers. A crash ends everything."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from mobench.errors import UserError
from mobench.running.executors.base import Executor, Setup, Share

if TYPE_CHECKING:
    from mobench.running.job import Job, Result


class Here(Executor):
    """This process."""

    name = "here"
    meaning = "this process, for debuggers"
    in_this_process: ClassVar[bool] = True

    def open(self, setup: Setup) -> None:
        limits = setup.limits
        if limits.seconds is not None and threading.current_thread() is not threading.main_thread():
            raise UserError(
                f"time_limit={limits.seconds:g} needs worker processes outside of the main thread: jobs=1 or more"
            )
        if limits.memory_bytes is not None:
            raise UserError("memory_limit needs worker processes: executor=local")
        self._setup = setup
        self._one_thread = _OneThread()
        self._finished: list[tuple[Job, Result]] = []

    def capacity(self, share: Share) -> int:
        return 1

    def has_room(self, alone: bool = False) -> bool:
        return not self._finished

    def submit(self, job: Job) -> None:
        from mobench.core.registry import load_plugins
        from mobench.running.interruption import TimeLimitExceeded
        from mobench.running.job import Halted, Lost
        from mobench.running.worker import perform

        interruption = self._setup.interruption
        load_plugins(job.plugins)
        result: Result
        try:
            with self._one_thread():
                result = perform(
                    job,
                    self._guard(),
                    passed_on=(KeyboardInterrupt, TimeLimitExceeded),
                    on_steps=partial(self._setup.on_steps, job),
                )
        except KeyboardInterrupt:
            if interruption is None or not interruption.insisted:  # a plugin raised it
                raise
            result = Halted()
        except TimeLimitExceeded:
            result = Lost(too_slow(self._setup.limits.seconds), resumable=True)
        self._finished.append((job, result))

    def poll(self, seconds: float) -> list[tuple[Job, Result]]:
        finished, self._finished = self._finished, []
        return finished

    def ask_to_stop(self) -> None:
        """Do nothing: between two jobs nothing is under way."""

    def close(self) -> None:
        """Do nothing: between two jobs nothing is under way."""

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """Within this block the first signal asks training to stop, the second one stops it."""
        from mobench.running.interruption import time_limited

        with time_limited(self._setup.limits.seconds):
            if self._setup.interruption is None:
                yield
            else:
                with self._setup.interruption.stopping_training():
                    yield


def too_slow(seconds: float | None) -> str:
    """Say that a run exceeded its time."""
    return f"the run took longer than its time limit of {seconds:g} s and was stopped"


class _OneThread:
    """Compute with one thread, as workers do: the number of threads can change the last digit."""

    def __init__(self) -> None:
        self._modules = 0
        self._pools: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        import threadpoolctl  # type: ignore[import-untyped]
        import torch

        # Finding the libraries with threads takes as long as a short run. Libraries come with modules.
        if self._modules != len(sys.modules):
            self._modules, self._pools = len(sys.modules), threadpoolctl.ThreadpoolController()
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with self._pools.limit(limits=1):
                yield
        finally:
            torch.set_num_threads(threads)
