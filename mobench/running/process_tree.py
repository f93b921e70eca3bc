"""Processes that leave nothing behind: they die with their parent, and what they started dies with them."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
_GRACE = 3.0
_ROUNDS = 10
"""How often to look for processes that were started while others were killed."""
_VMSTAT = Path("/proc/vmstat")


def die_with_parent() -> None:
    """Let the system kill this process when its parent ends, whatever it is doing then (Linux)."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans(on: bool = True) -> None:
    """Become the parent of all descendants that lose theirs, also of those that hide in own sessions (Linux)."""
    _prctl(PR_SET_CHILD_SUBREAPER, int(on))


def kill_group(leader: int) -> None:
    """Kill a process and all processes of the group that it leads."""
    for kill in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            kill(leader, signal.SIGKILL)


def kill_descendants(parent: int, *, spare: frozenset[int] = frozenset()) -> None:
    """Kill the children of a process, and theirs, except those children that are spared.

    A process that starts others faster than they are found is stopped first, so that it cannot.
    """
    while found := [child for child in _children(parent) if child.pid not in spare]:
        tree = [process for child in found for process in (child, *_children(child.pid, recursive=True))]
        _kill(tree)
        psutil.wait_procs(found, timeout=1.0)


def kill_marked(variable: str, is_leftover: Callable[[str], bool]) -> None:
    """Kill this user's processes that were started with an environment variable of a value that is a leftover's.

    Those that end by themselves within `_GRACE` seconds may: a fork server without a driver removes its folder first.
    What a process does to its environment later is not seen; one that was started with an empty one is not found.
    """
    deadline = time.monotonic() + _GRACE
    while (found := _marked(variable, is_leftover)) and time.monotonic() < deadline:
        psutil.wait_procs(found, timeout=0.1)
    for _ in range(_ROUNDS):
        if not found:
            return
        _kill(found)
        psutil.wait_procs(found, timeout=1.0)
        found = _marked(variable, is_leftover)


def _marked(variable: str, is_leftover: Callable[[str], bool]) -> list[psutil.Process]:
    spared = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    return [
        process
        for process in psutil.process_iter(["environ", "uids"])
        if process.pid not in spared
        and (value := (process.info["environ"] or {}).get(variable)) is not None
        and process.info["uids"].real == os.getuid()
        and is_leftover(value)
    ]


def started_here() -> frozenset[int]:
    """Return the processes that this one has started through multiprocessing."""
    return frozenset(child.pid for child in multiprocessing.active_children() if child.pid is not None)


def children_of(process: int) -> frozenset[int]:
    """Return the living children of a process."""
    return frozenset(child.pid for child in _children(process))


def out_of_memory_kills() -> int:
    """Return how many processes the system has killed because memory ran out; 0 where it does not say."""
    with suppress(OSError):
        for line in _VMSTAT.read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def resident_bytes(process: int) -> int:
    """Return the resident memory of a process and all its descendants."""
    total = 0
    with suppress(psutil.NoSuchProcess):
        parent = psutil.Process(process)
        for member in (parent, *parent.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                total += member.memory_info().rss
    return total


def _children(parent: int, recursive: bool = False) -> list[psutil.Process]:
    """Return the living children of a process."""
    living = []
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process(parent).children(recursive=recursive):
            with suppress(psutil.NoSuchProcess):
                if child.status() != psutil.STATUS_ZOMBIE:
                    living.append(child)
    return living


def _kill(processes: Sequence[psutil.Process]) -> None:
    """Stop all of them, so that none starts another, and kill them then."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for process in processes:
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                process.send_signal(number)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
