"""Ctrl-C, SIGTERM and SIGHUP, as requests that the scheduler answers."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any


class Interruption:
    """Turn SIGINT, SIGTERM and SIGHUP (a closed terminal) into a request that is answered at the next safe moment.

    The first signal asks for an orderly end: running work is finished or saved. The second one insists, and
    everything stops at once; more change nothing. A signal that the process was told to ignore (`nohup`) stays
    ignored. Outside of the main thread Python allows no handlers, and signals are left to the main thread; without
    `listen` they are left to what was there before.
    """

    def __init__(self, listen: bool = True) -> None:
        self._listen = listen
        self.signal: int | None = None
        self.insisted = False
        """Whether a second signal has arrived."""
        self._raising = False
        self._previous: dict[int, Any] = {}

    @property
    def requested(self) -> bool:
        """Whether a signal has arrived."""
        return self.signal is not None

    def __enter__(self) -> Interruption:
        if self._listen and threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) != signal.SIG_IGN:
                    self._previous[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            # None: the handler was not installed by Python and cannot be put back from here.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def wait(self, seconds: float) -> bool:
        """Wait for a signal for at most `seconds`; return whether one has arrived."""
        deadline = time.monotonic() + seconds
        while not self.requested and time.monotonic() < deadline:
            time.sleep(0.02)
        return self.requested

    @contextmanager
    def immediate(self) -> Iterator[None]:
        """Within this block the first signal raises KeyboardInterrupt at once."""
        self._raising = True
        try:
            if self.requested:
                raise KeyboardInterrupt
            yield
        finally:
            self._raising = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.signal is None:
            self.signal = number
            if self._raising:
                raise KeyboardInterrupt
        else:
            self.insisted = True
