"""What happens, as JSON lines in a file: `log=FILE`. An object a line, each written in one piece."""

from __future__ import annotations

import os
import platform
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from mobench.errors import UserError
from mobench.running.events import Closed, Event, Finished, Split, Started, Stepped, Tally
from mobench.running.worker import utc_now

STEP_SECONDS = 10.0
"""Steps of a job are logged at most this often."""


class EventLog:
    """Appends events to a file; several drivers may share it, since every line is appended whole."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as error:
            raise UserError(f"log={path} cannot be written: {error.strerror}") from error
        self._path = path
        self._told: dict[str, float] = {}
        self._driver = f"{platform.node()}:{os.getpid()}"
        self._broken = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def begin(self, planned: int, to_do: int, results: Path) -> None:
        """Log the start of a command."""
        self._write("begin", planned=planned, to_do=to_do, results=str(results))

    def end(self, tally: Tally) -> None:
        """Log its end."""
        self._write("end", done=tally.done, failed=tally.failed, seconds=tally.seconds, signal=tally.signal)

    def update(self, event: Event) -> None:
        """Log an event."""
        if isinstance(event, Started):
            if event.job:
                self._write("started", job=event.job, runs=event.runs, label=event.label)
        elif isinstance(event, Stepped):
            now = time.monotonic()
            if now - self._told.get(event.job, -STEP_SECONDS) >= STEP_SECONDS:
                self._told[event.job] = now
                steps = event.steps
                self._write(
                    "stepped",
                    job=event.job,
                    runs=event.runs,
                    step=steps.step,
                    total=steps.total,
                    steps_per_second=steps.rate,
                    host=steps.host,
                )
        elif isinstance(event, Split):
            self._write("split", job=event.job, runs=event.runs, reason=event.reason, together=event.again)
        elif isinstance(event, Closed):
            self._write("closed", device=event.device, reason=event.reason)
        elif isinstance(event, Finished):
            for run in event.runs:
                self._write(run.status, run=run.id, label=run.label, reason=run.reason, job=event.job)

    def _write(self, kind: str, **values: Any) -> None:
        line = orjson.dumps(
            {"time": utc_now(), "event": kind, "driver": self._driver, **values}, option=orjson.OPT_APPEND_NEWLINE
        )
        try:
            os.write(self._file, line)
        except OSError as error:
            if not self._broken:  # a log that cannot be written costs no run
                print(f"warning: log={self._path} cannot be written: {error.strerror}", file=sys.stderr)
            self._broken = True
