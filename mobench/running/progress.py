"""Live progress: a bar on a terminal, a few plain lines in a log file."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar
from rich.text import Text

from mobench.running.events import Event, FinishedRun, Split, Started, Stepped

LOG_SECONDS = 10.0
"""A log file gets a line at most this often, or at every tenth of the runs."""
LOG_SHARE = 0.05
"""Steps alone add a line to a log file only after this share of the time so far."""


class Progress:
    """Show runs done, running and failed, and the time left.

    Give `update` to `execute`. `total` is the number of runs, `work` the sum of the groups' weights;
    the time left follows from the share of the work that is finished, by runs and by steps of running ones.
    """

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
        self._total = total
        self._work = float(total) if work is None else work
        self._quiet = quiet
        self._clock = clock
        self._begun = self._last_line = clock()
        self._tenths = 0
        self._done = self._failed = self._running = 0
        self._finished_work = 0.0
        self._steps: dict[str, Stepped] = {}
        """The last report of every running job that has sent one."""
        self._bar: Bar | None = None

    def __enter__(self) -> Progress:
        self._begun = self._last_line = self._clock()
        if self._console.is_terminal and not self._quiet and self._total:
            columns = (BarColumn(bar_width=20), TextColumn("{task.fields[counts]}"))
            self._bar = Bar(*columns, console=self._console, get_time=self._clock)
            self._bar.add_task("", total=self._total, counts=self.counts())
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        elif self._total and not self._quiet:
            self._print(f"{self.counts(final=True)}, took {spell_seconds(self._clock() - self._begun)}")

    def update(self, event: Event) -> None:
        """Take in an event."""
        if isinstance(event, Started):
            self._running += event.runs
        elif isinstance(event, Stepped):
            self._steps[event.job] = event
        elif isinstance(event, Split):
            self._running -= event.runs
            self._steps.pop(event.job, None)
            how = "begin again" if event.again else "go on one by one"
            if event.reason:
                self._note(f"{event.runs} runs {how}: {event.reason}")
        else:
            self._steps.pop(event.job, None)
            for run in event.runs:
                self._finish(run)
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self.completed(), counts=self.counts())
        else:
            self._log(LOG_SHARE if isinstance(event, Stepped) else 0.0)

    def counts(self, final: bool = False) -> str:
        """Return the numbers as text."""
        parts = [f"{self._done + self._failed}/{self._total} runs"]
        if not final:
            parts.append(f"{self._running} running")
        parts.append(f"{self._failed} failed")
        if not final and len(self._steps) == 1 and sum(event.runs for event in self._steps.values()) == self._running:
            (event,) = self._steps.values()
            parts.append(f"step {event.steps.step:,} of {event.steps.total:,}")
        left = self.seconds_left()
        if left is not None and not final:
            parts.append(f"{spell_seconds(left)} left")
        return ", ".join(parts)

    def completed(self) -> float:
        """Return how many runs are finished, and the finished shares of running ones."""
        shares = (event.runs * event.steps.step / event.steps.total for event in self._steps.values())
        return self._done + self._failed + sum(shares)

    def seconds_left(self) -> float | None:
        """Estimate the remaining seconds, None before any work is done.

        Steps before a checkpoint are work that nobody has to do now, so they count neither as done nor as left.
        """
        here = saved = 0.0
        for event in self._steps.values():
            here += event.work * (event.steps.step - event.steps.first) / event.steps.total
            saved += event.work * event.steps.first / event.steps.total
        done = self._finished_work + here
        if done <= 0.0:
            return None
        rest = max(0.0, self._work - saved - done)
        return (self._clock() - self._begun) * rest / done

    def _finish(self, run: FinishedRun) -> None:
        self._running -= 1
        self._finished_work += run.work
        if run.status == "done":
            self._done += 1
        else:
            self._failed += 1
            self._note(f"failed {run.id[:12]} {run.label}: {run.reason}")

    def _note(self, text: str) -> None:
        if not self._quiet:
            self._print(text)

    def _log(self, share: float) -> None:
        """Write a line if the last one is old enough: at least `share` of the time so far."""
        finished, now = self._done + self._failed, self._clock()
        tenths = 10 * finished // self._total if self._total else 0
        wait = max(LOG_SECONDS, share * (now - self._begun))
        if self._quiet or finished == self._total or not (tenths > self._tenths or now - self._last_line >= wait):
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
