"""Live progress: a bar on a terminal, a few plain lines in a log file."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar
from rich.text import Text

from mobench.running.course import Course
from mobench.running.events import Closed, Event, Finished, Split, Stepped

LOG_SECONDS = 10.0
"""A log file gets a line at most this often, or at every tenth of the runs."""
LOG_SHARE = 0.05
"""Steps alone add a line to a log file only after this share of the time so far."""


class Progress:
    """Show runs done, running and failed, and the time left. Give `update` to `execute`."""

    def __init__(
        self,
        console: Console,
        total: int,
        *,
        quiet: bool = False,
        work: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._quiet = quiet
        self._clock = clock
        self.course = Course(total, work, clock)
        self._last_line = clock()
        self._tenths = 0
        self._bar: Bar | None = None

    def __enter__(self) -> Progress:
        self.course.begun = self._last_line = self._clock()
        if self._console.is_terminal and not self._quiet and self.course.total:
            columns = (BarColumn(bar_width=20), TextColumn("{task.fields[counts]}"))
            self._bar = Bar(*columns, console=self._console, get_time=self._clock)
            self._bar.add_task("", total=self.course.total, counts=self.counts())
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        elif self.course.total and not self._quiet:
            self._print(f"{self.counts(final=True)}, took {spell_seconds(self._clock() - self.course.begun)}")

    def update(self, event: Event) -> None:
        """Take in an event."""
        self.course.update(event)
        if isinstance(event, Split):
            how = "begin again" if event.again else "go on in smaller groups"
            if event.reason:
                self._note(f"{event.runs} runs {how}: {event.reason}")
        elif isinstance(event, Closed):
            self._note(f"{event.device} is used no more: {event.reason}")
        elif isinstance(event, Finished):
            for run in event.runs:
                if run.status == "failed":
                    self._note(f"failed {run.id[:12]} {run.label}: {run.reason}")
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self.course.completed(), counts=self.counts())
        else:
            self._log(LOG_SHARE if isinstance(event, Stepped) else 0.0)

    def counts(self, final: bool = False) -> str:
        """Return the numbers as text."""
        course = self.course
        parts = [f"{course.finished}/{course.total} runs"]
        if not final:
            parts.append(f"{course.running} running")
        parts.append(f"{course.failed} failed")
        told = list(course.steps.values())
        if not final and len(told) == 1 and told[0].runs == course.running:
            parts.append(f"step {told[0].steps.step:,} of {told[0].steps.total:,}")
        left = course.seconds_left()
        if left is not None and not final:
            parts.append(f"{spell_seconds(left)} left")
        return ", ".join(parts)

    def _note(self, text: str) -> None:
        if not self._quiet:
            self._print(text)

    def _log(self, share: float) -> None:
        """Write a line if the last one is old enough: at least `share` of the time so far."""
        course, now = self.course, self._clock()
        tenths = 10 * course.finished // course.total if course.total else 0
        wait = max(LOG_SECONDS, share * (now - course.begun))
        is_last = course.finished == course.total
        if self._quiet or is_last or not (tenths > self._tenths or now - self._last_line >= wait):
            return
        self._tenths, self._last_line = tenths, now
        self._print(self.counts())

    def _print(self, text: str) -> None:
        """Print one line, cut at the console's width; a bar on a terminal stays below it."""
        line = Text(text)
        line.truncate(self._console.width, overflow="ellipsis")
        self._console.print(line)


def spell_seconds(seconds: float) -> str:
    """Write a duration as people read it: `42 s`, `3:07 min`, `2:15 h`, `12 days`, `35 years`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d} min"
    if whole < 48 * 3600:
        return f"{whole // 3600}:{whole % 3600 // 60:02d} h"
    days = whole / 86400
    return f"{days:.0f} days" if days < 730 else f"{days / 365.25:.0f} years"
