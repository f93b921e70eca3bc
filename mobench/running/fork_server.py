"""The process that worker processes are forked from: torch is loaded, it has one thread, and it ignores Ctrl-C.

It ends when the process that started it is gone, and takes all workers and whatever they started with it.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing import forkserver, process, resource_tracker, util
from pathlib import Path
from typing import Any

from mobench.core.module_path import same_module_path
from mobench.core.process_name import is_of_dead_process, process_name
from mobench.errors import UserError
from mobench.running.process_tree import kill_marked

MARK = "MOBENCH_FORK_SERVER"
"""The environment variable that tells `preload` that it is loaded by this server: the folder of the server's socket.

A driver that is killed cannot remove that folder; its server does so when it ends, and if that is killed too, the next
driver.
"""
OWNER = "MOBENCH_DRIVER"
"""The environment variable that names the driver to whatever the server forks, and whatever that starts.

A server that is killed cannot end what its workers started and hid; by this name the next one finds it.
"""
PREFIX = "mobench-"
"""How the names of these folders begin; that of the process which made it follows."""

_starting = threading.Lock()

context = multiprocessing.get_context("forkserver")


def start() -> bool:
    """Start the server unless it runs, and return at once whether it was started; it takes seconds to load torch."""
    with _starting:
        if lives():
            return False
        _start()
        return True


def _start() -> None:
    owner = f"{process_name()}."
    # No server of this driver lives, and no driver is there for the others: nobody else can end what they left.
    kill_marked(OWNER, lambda name: name == owner or is_of_dead_process(name))
    context.set_forkserver_preload(["mobench.running.preload"])
    # The tracker unblocks signals when it starts; it has to be there before the server is shielded.
    resource_tracker.ensure_running()
    # From the first file in the temporary folder until the server, which removes what is there, no signal gets between.
    with _shielded(), same_module_path(), environment_variables({MARK: _folder(), OWNER: owner}):
        try:
            forkserver.ensure_running()
        except OSError as error:
            if "too long" not in str(error):
                raise
            folder = Path(_folder()).parent
            raise UserError(f"TMPDIR={folder} is too long a path for sockets; set TMPDIR to a shorter one") from error


def abandon() -> None:
    """Kill a server that is loading or does not answer, so that nothing waits for it and another can start."""
    if (server := server_id()) is not None and lives():
        os.kill(server, signal.SIGKILL)
        os.waitid(os.P_PID, server, os.WEXITED | os.WNOWAIT)


def server_id() -> int | None:
    """Return the process id of the fork server; Python offers no public way to ask."""
    server: int | None = getattr(forkserver._forkserver, "_forkserver_pid", None)
    return server


def lives() -> bool:
    """Say whether the server runs; one that ended is left to Python, which collects it before it starts another."""
    server = server_id()
    if server is None:
        return False
    try:
        return os.waitid(os.P_PID, server, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False


def _folder() -> str:
    """Return the folder that multiprocessing makes sockets in, with a name that tells whose it is."""
    config: dict[str, Any] = process.current_process()._config  # type: ignore[attr-defined]
    if config.get("tempdir") is None:
        _remove_abandoned(Path(tempfile.gettempdir()))
        config["tempdir"] = made = tempfile.mkdtemp(prefix=f"{PREFIX}{process_name()}.")
        util.Finalize(None, shutil.rmtree, args=(made, True), exitpriority=-100)
    return str(config["tempdir"])


def remove_folder() -> None:
    """Remove that folder, for a process that ends without calling what Python calls at the end."""
    made = process.current_process()._config.get("tempdir")  # type: ignore[attr-defined]
    if made is not None:
        shutil.rmtree(made, ignore_errors=True)


def _remove_abandoned(folder: Path) -> None:
    """Remove what drivers left that were killed together with their servers."""
    for path in folder.glob(f"{PREFIX}*"):
        with suppress(FileNotFoundError):
            if is_of_dead_process(path.name) and path.lstat().st_uid == os.getuid() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)


@contextmanager
def environment_variables(variables: Mapping[str, str]) -> Iterator[None]:
    """Within this block the environment has these variables too."""
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
    """Put off the signals of terminals, shutdowns and batch systems; processes started meanwhile never get them."""
    numbers = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
