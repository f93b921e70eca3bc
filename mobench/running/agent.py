"""A place for jobs on another machine: a worker process there, and a folder for what only this machine needs."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from mobench.core.resources import resources
from mobench.running.environment import environment
from mobench.running.executors.base import Limits, Setup
from mobench.running.executors.local import Slot, poll_slots
from mobench.running.job import Job, Result, Steps
from mobench.running.machine import Place
from mobench.running.parcel import PluginFile, unpack_plugins

_PREFIX = "mobench-agent-"
_LOCK = "lock"
_YOUNG_SECONDS = 60.0
"""A folder may be this old before it has its lock."""


class Agent:
    """Do one job at a time in a worker process, with its limits, as `executor=local` does."""

    def __init__(self, limits: Limits, variables: Mapping[str, str]) -> None:
        os.environ.update(variables)
        _hide_main_module()
        self.scratch = Scratch()
        self.steps: Steps | None = None
        """How far the job is, as its worker reported last."""
        self._slot = Slot(Place(resources().device, None), Setup(limits, on_steps=self._note))
        self._slot.prepare()

    @property
    def busy(self) -> bool:
        """Whether a job is under way."""
        return self._slot.job is not None

    def begin(self, job: Job, plugins: Sequence[PluginFile]) -> None:
        """Begin a job; what its record says of the machine is about this one."""
        self.steps = None
        files = unpack_plugins(plugins, self.scratch.folder / "plugins")
        self._slot.begin(replace(job, plugins=files, environment=environment()))

    def poll(self, seconds: float) -> Result | None:
        """Wait for at most `seconds` for the result of the job; None while it goes on."""
        found = poll_slots([self._slot], seconds)
        return found[0][1] if found else None

    def ask_to_stop(self) -> None:
        """Ask the job to save its state and to stop."""
        self._slot.ask_to_stop()

    def close(self) -> None:
        """Stop at once and leave nothing behind."""
        self._slot.stop()
        self.scratch.remove()

    def _note(self, job: Job, steps: Steps) -> None:
        self.steps = steps


class Scratch:
    """A temporary folder that goes with its process: at the latest, the next one on the machine removes it."""

    def __init__(self) -> None:
        above = Path(tempfile.gettempdir())
        _remove_abandoned(above)
        self._before = tempfile.tempdir
        self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=above))
        self._lock = os.open(self.folder / _LOCK, os.O_CREAT | os.O_RDWR)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        tempfile.tempdir = str(self.folder)

    def remove(self) -> None:
        """Remove the folder now."""
        tempfile.tempdir = self._before
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)


def _remove_abandoned(above: Path) -> None:
    """Remove folders whose processes are gone: the system has released their locks."""
    for folder in above.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime < _YOUNG_SECONDS:
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def _hide_main_module() -> None:
    """Keep worker processes from importing the program that hosts this agent, as multiprocessing lets them do."""
    main = sys.modules["__main__"]
    main.__spec__ = None
    vars(main).pop("__file__", None)
