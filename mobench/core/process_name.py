"""Which process of which machine this is, in words that other machines on the same file system can tell apart."""

from __future__ import annotations

import hashlib
import os
import platform
import re
from contextlib import suppress
from functools import cache
from pathlib import Path

import psutil

_NAME = re.compile(r"(?P<machine>[0-9a-f]{8})-(?P<process>[1-9][0-9]{0,9})\.")


@cache
def machine() -> str:
    """Return what two processes share whose process ids mean the same: not those of a reboot or a container ago."""
    parts = [platform.node()]
    with suppress(OSError):  # elsewhere than on Linux the name has to do
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(parts)


def process_name() -> str:
    """Return a short name of this process, for files that are its own until they are whole."""
    return f"{_short_machine()}-{os.getpid()}"


def is_of_dead_process(file: str) -> bool:
    """Say whether a file's name holds the name of a process of this machine that is no more."""
    named = _NAME.search(file)
    return named is not None and named["machine"] == _short_machine() and not psutil.pid_exists(int(named["process"]))


@cache
def _short_machine() -> str:
    return hashlib.sha256(machine().encode()).hexdigest()[:8]
