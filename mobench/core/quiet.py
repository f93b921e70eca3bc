"""A moment in which no other run of this machine computes, for what is timed.

Whoever trains holds a file lock that all may share. Who wants quiet asks for the same lock alone, which is granted
when everybody else has let go of it. So that this happens soon, those who train let go between two steps, up to
200 times a second; a second lock, the door, keeps them from coming back before the one who asked has had his turn.

    door   held alone by who wants quiet, and passed by everybody who wants to train
    room   shared by those who train; held alone by who has quiet

The locks are `flock`s on two files of the user in the folder for temporary files: they work between all processes of
the machine, whoever started them, and end with the process that holds them, however it ends.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

EVERY_SECONDS = 0.005
"""How often who trains lets others in."""
PATIENCE_SECONDS = 60.0
"""How long quiet is waited for: a run that hangs must not keep others from ending."""
POLL_SECONDS = 0.002


class Quiet:
    """This process's share of the machine."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._files: dict[str, int] = {}
        self._process = 0
        self._depth = 0
        self._last = 0.0

    @contextmanager
    def training(self) -> Iterator[None]:
        """Within this block others who want quiet have to wait for `pause`."""
        self._depth += 1
        if self._depth == 1:
            self._enter()
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0:
                self._leave("room")

    def pause(self) -> float:
        """Let those in who want quiet, now and then; return for how many seconds this process stood still."""
        now = time.monotonic()
        if now - self._last < EVERY_SECONDS or not self._depth:
            return 0.0
        self._leave("room")
        self._enter()
        return time.monotonic() - now

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Within this block no other run computes on this machine, unless one hangs in the middle of a step."""
        self._leave("room")
        until = time.monotonic() + PATIENCE_SECONDS
        self._take_before("door", until)
        self._take_before("room", until)
        try:
            yield
        finally:
            self._leave("room")
            self._leave("door")
            if self._depth:
                self._enter()

    def _enter(self) -> None:
        self._take("door", fcntl.LOCK_SH)
        self._take("room", fcntl.LOCK_SH)
        self._leave("door")
        self._last = time.monotonic()

    def _take(self, name: str, kind: int) -> None:
        with suppress(OSError):  # no folder to lock in: then times may be disturbed, and runs go on
            self._flock(name, kind)

    def _flock(self, name: str, kind: int) -> None:
        if os.getpid() != self._process:  # a fork would share its parent's locks
            self._process, self._files = os.getpid(), {}
        if name not in self._files:
            folder = self._folder or Path(tempfile.gettempdir()) / f"mobench-{os.getuid()}"
            folder.mkdir(mode=0o700, exist_ok=True)
            self._files[name] = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._files[name], kind)

    def _take_before(self, name: str, until: float) -> None:
        """Take a lock alone, or go on without it when the time is over."""
        while True:
            try:
                self._flock(name, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() < until:
                    time.sleep(POLL_SECONDS)
                    continue
            except OSError:  # as in `_take`
                return
            return

    def _leave(self, name: str) -> None:
        if os.getpid() == self._process and name in self._files:
            fcntl.flock(self._files[name], fcntl.LOCK_UN)


QUIET = Quiet()
"""That of this process."""
