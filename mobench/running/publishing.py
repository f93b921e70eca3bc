"""A driver publishes in the results folder how far it is, see `mobench.store.driver_status`."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from mobench.running.course import Course
from mobench.running.events import Event, Finished, Split, Started, Stepped
from mobench.store.driver_status import DriverStatus, RunningJob, withdraw
from mobench.store.lease import Owner

PUBLISH_SECONDS = 1.0
"""How often the file is written at most."""


class Publisher:
    """Writes what an execution tells from a thread of its own, so that a slow disk slows nothing else down."""

    def __init__(self, root: Path, owner: Owner, total: int, work: float | None) -> None:
        self._root = root.absolute()
        self._owner = owner
        self._begun = time.time()
        self._course = Course(total, work, time.monotonic)
        self._jobs: dict[str, RunningJob] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._publish, name="publisher", daemon=True)

    def __enter__(self) -> Self:
        self._write()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        with suppress(OSError):
            withdraw(self._root, self._owner.owner)

    def update(self, event: Event) -> None:
        """Take in an event."""
        with self._lock:
            self._course.update(event)
            if isinstance(event, Started) and event.job:
                self._jobs[event.job] = RunningJob(event.job, event.label, event.runs, time.time())
            elif isinstance(event, Stepped) and event.job in self._jobs:
                steps = event.steps
                self._jobs[event.job] = replace(
                    self._jobs[event.job],
                    host=steps.host,
                    step=steps.step,
                    total=steps.total,
                    steps_per_second=steps.rate,
                )
            elif isinstance(event, (Finished, Split)):
                self._jobs.pop(event.job, None)

    def _publish(self) -> None:
        while not self._stop.wait(PUBLISH_SECONDS):
            self._write()

    def _write(self) -> None:
        with self._lock:
            status = DriverStatus(
                self._owner,
                self._begun,
                time.time(),
                self._course.total,
                self._course.done,
                self._course.failed,
                self._course.seconds_left(),
                tuple(self._jobs.values()),
            )
        with suppress(OSError):  # a folder that cannot be written is noticed where records are
            if self._root.is_dir():  # one that was deleted stays so
                status.save(self._root)
