"""One worker process and the job it is doing.

Each slot is a Pebble pool of one process. With a single process there is never a doubt which job a
dead process was doing, and a process that dies at an awkward moment cannot block another one.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import signal
import time
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path

from pebble import ProcessExpired, ProcessPool

from mobench.running import fork_server
from mobench.running.worker import Job, Lost, Summary, perform_in_worker, start_worker

FALSE_STARTS = 3
"""How many times in a row a process may die before it begins its job."""
GRACE_SECONDS = 1.0
"""How long a result may be under way from a process that is gone."""

_serial = itertools.count()


class WorkerStartError(RuntimeError):
    """Worker processes die before they begin their first job."""


class Slot:
    """A place for one job at a time."""

    def __init__(self, plugins: Sequence[str]) -> None:
        # The fork server keeps the environment of its own start; ours may have changed since.
        variables = {name: value for name, value in os.environ.items() if name.startswith("MOBENCH_")}
        self._setup = (plugins, variables)
        self._pool: ProcessPool | None = None
        self._false_starts = 0
        self._gone_since: float | None = None
        self._limit: float | None = None
        self.job: Job | None = None
        self.future: Future[list[Summary] | Lost] = Future()
        self.trace = Path()

    def submit(self, job: Job, limit: float | None) -> None:
        """Begin a job that may take `limit` seconds."""
        if self._pool is None or not self._pool.active:
            self._discard()
            self._pool = ProcessPool(1, initializer=start_worker, initargs=self._setup, context=fork_server.context)
        self.job, self._limit, self._gone_since = job, limit, None
        self.trace = Path(fork_server.scratch().name) / f"{next(_serial)}.trace"
        self.future = self._pool.schedule(perform_in_worker, args=(job, self.trace), timeout=limit)

    def poll(self) -> list[Summary] | Lost | None:
        """Return the job's result, None while there is none."""
        assert self.job is not None
        if not self.future.done():
            if not self._is_gone():
                return None
            # Pebble takes exit code 0 for an orderly end and would wait for the result forever.
            return self._end(Lost("the worker process ended with exit code 0 in the middle of the run"))
        error = self.future.exception()
        if error is None:
            self._false_starts = 0
            return self._end(self.future.result())
        if hasattr(error, "traceback"):  # raised in the worker outside of training: not a run's fault
            raise error
        if isinstance(error, TimeoutError):
            text = f"the run took longer than its time limit of {self._limit:g} s and was stopped"
            return self._end(Lost(text, self._stack(), resumable=True))
        if not isinstance(error, (ProcessExpired, BrokenProcessPool)):
            raise error
        if self.trace.exists():
            code = getattr(error, "exitcode", None)
            killed_by = -code if code is not None and code < 0 else None
            return self._end(Lost(_describe_exit(code), self._stack(), signal=killed_by))
        self._restart()
        return None

    def stop(self) -> None:
        """Kill the process whatever it does; records are atomic, so nothing can break."""
        if self._pool is not None:
            self._pool.stop()  # type: ignore[no-untyped-call]
            if self.job is not None and self.trace.exists() and not _is_free(self.trace):
                for process in self.trace.read_text().split()[:1]:  # none yet in a job that just begins
                    with suppress(ProcessLookupError):
                        os.kill(int(process), signal.SIGKILL)

    def join(self) -> None:
        """Wait until the process is gone; to be called after `stop`."""
        self._discard()
        if self.job is not None:
            self.trace.unlink(missing_ok=True)

    def _end(self, result: list[Summary] | Lost) -> list[Summary] | Lost:
        self.job = None
        self.trace.unlink(missing_ok=True)
        return result

    def _restart(self) -> None:
        """Begin the job again: its process died before it had taken it up."""
        self._false_starts += 1
        if self._false_starts >= FALSE_STARTS:
            raise WorkerStartError(
                "worker processes die before they begin; what they printed stands above. "
                "A script that calls mobench must do so under `if __name__ == '__main__':`"
            )
        assert self.job is not None
        self._discard()
        self.submit(self.job, self._limit)

    def _discard(self) -> None:
        if self._pool is not None:
            self._pool.stop()  # type: ignore[no-untyped-call]
            self._pool.join()
            self._pool = None

    def _is_gone(self) -> bool:
        """Say whether the process took up the job and has been dead for a while."""
        if not self.trace.exists() or not _is_free(self.trace):
            self._gone_since = None
            return False
        if self._gone_since is None:
            self._gone_since = time.monotonic()
        return time.monotonic() - self._gone_since > GRACE_SECONDS

    def _stack(self) -> str:
        """Return the Python stack that a dying process left, if it could."""
        return self.trace.read_text(errors="replace").partition("\n")[2] if self.trace.exists() else ""


def _is_free(trace: Path) -> bool:
    """Say whether no process holds the lock of a trace."""
    with trace.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _describe_exit(code: int | None) -> str:
    if code is None:
        return "the worker process ended abruptly"
    if code >= 0:
        return f"the worker process ended with exit code {code} in the middle of the run"
    name = signal.Signals(-code).name if -code in signal.valid_signals() else f"signal {-code}"
    hint = "; the usual cause is that memory ran out" if -code == signal.SIGKILL else ""
    return f"the worker process was killed by {name}{hint}"
