"""What is left of a program that ran in a session of its own, or was started with a mark in its environment."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import psutil

MARK = "MOBENCH_TEST_MARK"
PATIENCE = 120.0


def mobench(*arguments: object, cwd: Path, env: Mapping[str, str], **options: object) -> subprocess.Popen[bytes]:
    """Start the real program; everything that comes of it carries `env`."""
    command = [sys.executable, "-m", "mobench", *map(str, arguments)]
    return subprocess.Popen(command, cwd=cwd, env=dict(env), start_new_session=True, preexec_fn=hear_signals, **options)  # type: ignore[call-overload, no-any-return]


def hear_signals() -> None:
    """Undo that a shell lets what it starts in the background ignore signals: programs inherit that."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def marked(folder: Path) -> dict[str, str]:
    """Return an environment whose processes can be found again, with a temporary folder of its own."""
    return {**os.environ, MARK: str(folder), "TMPDIR": str(scratch(folder)), "OMP_NUM_THREADS": "1"}


@cache
def scratch(folder: Path) -> Path:
    """Return a temporary folder for the programs of this test; its path is short, since sockets are made in it."""
    made = Path(tempfile.mkdtemp(prefix="mb-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def living(folder: Path) -> list[psutil.Process]:
    """Return the processes that were started with this folder's mark, but those that merely wait to be reaped."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if process.environ().get(MARK) == str(folder) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def leftovers(folder: Path) -> Sequence[Path]:
    """Return what lies in the temporary folder, but what each user has there once: torch's cache and our lock files."""
    found = scratch(folder).iterdir()
    return [
        path for path in found if not path.name.startswith("torchinductor_") and path.name != f"mobench-{os.getuid()}"
    ]


def wait_until(happened: Callable[[], object], patience: float = PATIENCE) -> None:
    end = time.monotonic() + patience
    while not happened():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


def workers(driver: int) -> list[psutil.Process]:
    """Return the processes that a driver's fork server has forked."""
    with suppress(psutil.NoSuchProcess):
        return [one for one in psutil.Process(driver).children(recursive=True) if one.ppid() != driver]
    return []
