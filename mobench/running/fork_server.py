"""The process that worker processes are forked from: torch is loaded, it has one thread, and it ignores Ctrl-C.

It ends by itself when the process that started it and all workers are gone.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing import forkserver, resource_tracker
from pathlib import Path

READY = "MOBENCH_FORK_SERVER_READY"
"""The environment variable with the file to create when everything is loaded."""
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

context = multiprocessing.get_context("forkserver")


@cache
def scratch() -> tempfile.TemporaryDirectory[str]:
    """Return this process's temporary folder, which goes when the process ends."""
    return tempfile.TemporaryDirectory(prefix="mobench-")


@cache
def start() -> Path | None:
    """Start the fork server and return at once; it takes seconds to load torch.

    Returns the file that appears when it is ready; None if a server was running before.
    """
    if _server_id() is not None:
        return None
    ready = Path(scratch().name) / "ready"
    context.set_forkserver_preload(["mobench.running.preload"])
    # The tracker unblocks signals when it starts; it has to be there before the server is shielded.
    resource_tracker.ensure_running()
    with _environment({**_ONE_THREAD, READY: str(ready)}), _shielded():
        forkserver.ensure_running()
    return ready


def is_ready() -> bool:
    """Say whether workers can be forked without waiting for torch to load."""
    ready = start()
    return ready is None or ready.exists()


def abandon() -> None:
    """Kill a server that is still loading, so that nothing waits for its end."""
    server = _server_id()
    if server is not None and not is_ready():
        os.kill(server, signal.SIGKILL)
        start.cache_clear()


def _server_id() -> int | None:
    """Return the process id of the running fork server; Python offers no public way to ask."""
    server: int | None = getattr(forkserver._forkserver, "_forkserver_pid", None)
    return server


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _shielded() -> Iterator[None]:
    """Block SIGINT and SIGTERM: processes started meanwhile inherit that, and so do their children."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
