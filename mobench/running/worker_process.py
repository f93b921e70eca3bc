"""One worker process as the scheduling process sees it: what it does, for how long, and how it ended."""

from __future__ import annotations

import fcntl
import os
import tempfile
import termios
import time
from array import array
from collections.abc import Callable, Mapping
from multiprocessing import connection, reduction
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import Any

from mobench.running import fork_server
from mobench.running.death import Death
from mobench.running.job import Steps
from mobench.running.process_tree import (
    kill_descendants,
    kill_group,
    out_of_memory_kills,
    resident_bytes,
    started_here,
)
from mobench.running.worker_main import SHOW_STACK, STOP, Doing, serve

FALSE_STARTS = 3
"""How many times in a row a process may die before it is ready."""
LOST_SERVER = 255
"""The exit code that Python makes up when the fork server is gone and nobody knows the true one."""
STACK_SECONDS = 0.3
"""How long a process that is to be killed may take to write down where it is."""


class WorkerStartError(RuntimeError):
    """Worker processes die before they begin their first job."""


class WorkerProcess:
    """A process that answers one message at a time."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        # The fork server keeps the environment of its own start; ours may have changed since.
        ours = {name: value for name, value in os.environ.items() if name.startswith("MOBENCH_")}
        self._variables = {**ours, **variables}
        self._trace = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this; nameless, so that nothing is left of it
        fcntl.fcntl(self._trace, fcntl.F_SETFL, fcntl.fcntl(self._trace, fcntl.F_GETFL) | os.O_APPEND)
        self._false_starts = 0
        self._channel: Connection
        self._message: Any = None
        self._ready = False
        self._kills = 0
        self.doing = ""
        """What the process said last that it does."""
        self.limited = False
        """Whether it may take only so long to do so."""
        self.since: float | None = None
        """When it began to do so."""
        self.used = False
        self.steps: Steps | None = None
        """How far training is, as last reported."""
        self._start()

    @property
    def waitables(self) -> list[Any]:
        """What becomes ready when there is something to `poll`."""
        return [self._process.sentinel] if self._silent else [self._channel, self._process.sentinel]

    def submit(self, message: Any) -> None:
        """Give the process something to do, as soon as it is ready."""
        self._message, self.used, self.steps = message, True, None
        if self._ready:
            self._send()

    def poll(self) -> Any:
        """Return the answer, or the `Death` of the process without one; None while there is neither."""
        dead = bool(connection.wait([self._process.sentinel], 0))  # before looking for what it said last
        while self._has_message():
            try:
                answer = self._channel.recv()
            except (EOFError, ConnectionResetError):
                self._silent = True
                break
            if isinstance(answer, Steps):
                self.steps = answer
                continue
            if not isinstance(answer, Doing):
                self._message = self.since = None
                return answer
            self.doing, self.limited, self.since = answer.text, answer.limited, time.monotonic()
            if not self._ready:
                self._ready, self._false_starts = True, 0
                if self._message is not None:
                    self._send()
        if not dead:
            return None
        if not self._ready:
            self._begin_anew()
            return None
        self._message = self.since = None
        said = _can_be_read(self._process.sentinel)
        code = self._process.exitcode
        return Death(None if code == LOST_SERVER and not said else code, out_of_memory_kills() > self._kills)

    def ask_to_stop(self) -> bool:
        """Ask the training loop to save its state and to stop; False: its job has not reached the process yet."""
        if self._ready and self._message is not None:
            self._signal(STOP)
        return self._ready

    def memory(self) -> int:
        """Return the resident memory of the process and of all that it started."""
        return resident_bytes(self._process.pid or 0)

    def seconds(self) -> float:
        """Return for how long the process has been doing what it does."""
        return 0.0 if self.since is None else time.monotonic() - self.since

    def stack(self, ask: bool = False) -> str:
        """Return the Python stack that the process left when it died; `ask` a living one for it."""
        if ask:
            self._signal(SHOW_STACK)
            deadline = time.monotonic() + STACK_SECONDS
            while time.monotonic() < deadline and not os.fstat(self._trace.fileno()).st_size:
                time.sleep(0.01)
            time.sleep(0.01)
        size = os.fstat(self._trace.fileno()).st_size
        return os.pread(self._trace.fileno(), min(size, 2**20), 0).decode(errors="replace")

    def kill(self, *, everything: bool) -> None:
        """End the process whatever it does; with `everything` also what it started and hid."""
        self._ready = False
        if self._process.pid is not None:
            kill_group(self._process.pid)
        self._process.join(timeout=5.0)
        self._channel.close()
        if self._process.exitcode is not None:
            self._process.close()
        self._trace.close()
        server = fork_server.server_id()
        if everything and server is not None:
            kill_descendants(server, spare=started_here())

    def _start(self) -> None:
        """Fork a process, from another server if the one that runs is killed meanwhile."""
        for _ in range(FALSE_STARTS):
            fork_server.start()
            ours, theirs = connection.Pipe()
            process = fork_server.context.Process(
                target=serve, args=(theirs, _Descriptor(self._trace.fileno()), self._variables)
            )
            try:
                process.start()
            except (EOFError, ConnectionError):
                ours.close()
                fork_server.abandon()
                continue
            finally:
                theirs.close()
            self._process: ForkServerProcess = process
            self._channel, self._silent = ours, False
            return
        raise WorkerStartError("the process that worker processes are forked from dies again and again")

    def _begin_anew(self) -> None:
        """Replace a process that died before it was ready."""
        self._false_starts += 1
        if self._false_starts >= FALSE_STARTS:
            raise WorkerStartError(
                "worker processes die before they begin; what they printed stands above. "
                "A script that calls mobench must do so under `if __name__ == '__main__':`"
            )
        channel, process = self._channel, self._process
        self._start()
        channel.close()
        process.join()
        process.close()

    def _send(self) -> None:
        self._trace.truncate(0)
        self._kills = out_of_memory_kills()
        self.since = time.monotonic()
        try:
            self._channel.send(self._message)
        except (BrokenPipeError, ConnectionResetError):
            return  # it is dead, as `poll` will find

    def _has_message(self) -> bool:
        try:
            return not self._silent and self._channel.poll()
        except (BrokenPipeError, ConnectionResetError):
            return False

    def _signal(self, number: int) -> None:
        if self._process.pid is not None and self._process.is_alive():
            os.kill(self._process.pid, number)


def _can_be_read(pipe: int) -> bool:
    """Say whether there is something in a pipe; none in that of an exit code: who was to write it, ended before."""
    waiting = array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, waiting)
    return waiting[0] > 0


class _Descriptor:
    """A file descriptor that another process gets as its own when this is sent to it at its start."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> tuple[Callable[[Any], int], tuple[Any]]:
        return _own, (reduction.DupFd(self._number),)


def _own(duplicate: Any) -> int:
    number: int = duplicate.detach()
    return number
