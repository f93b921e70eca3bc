"""How far an execution is, from the events that it tells: runs done, running and failed, and the time left."""

from __future__ import annotations

from collections.abc import Callable

from mobench.running.events import Event, Finished, FinishedRun, Split, Started, Stepped


class Course:
    """The numbers of an execution so far.

    `total` is the number of runs, `work` the sum of the groups' weights; the time left follows from the share of
    the work that is finished, by runs and by steps of running ones.
    """

    def __init__(self, total: int, work: float | None, clock: Callable[[], float]) -> None:
        self.total = total
        self.begun = clock()
        self.done = self.failed = self.running = 0
        self.steps: dict[str, Stepped] = {}
        """The last report of every running job that has sent one."""
        self._work = float(total) if work is None else work
        self._finished_work = 0.0
        self._clock = clock

    @property
    def finished(self) -> int:
        """How many runs have their records."""
        return self.done + self.failed

    def update(self, event: Event) -> None:
        """Take in an event."""
        if isinstance(event, Started):
            self.running += event.runs
        elif isinstance(event, Stepped):
            self.steps[event.job] = event
        elif isinstance(event, Split):
            self.running -= event.runs
            self.steps.pop(event.job, None)
        elif isinstance(event, Finished):
            self.steps.pop(event.job, None)
            for run in event.runs:
                self._finish(run)

    def completed(self) -> float:
        """Return how many runs are finished, and the finished shares of running ones."""
        shares = (event.runs * event.steps.step / event.steps.total for event in self.steps.values())
        return self.finished + sum(shares)

    def seconds_left(self) -> float | None:
        """Estimate the remaining seconds, None before any work is done.

        Steps before a checkpoint are work that nobody has to do now, so they count neither as done nor as left.
        """
        here = saved = 0.0
        for event in self.steps.values():
            here += event.work * (event.steps.step - event.steps.first) / event.steps.total
            saved += event.work * event.steps.first / event.steps.total
        done = self._finished_work + here
        if done <= 0.0:
            return None
        rest = max(0.0, self._work - saved - done)
        return (self._clock() - self.begun) * rest / done

    def _finish(self, run: FinishedRun) -> None:
        self.running -= 1
        self._finished_work += run.work
        if run.status == "done":
            self.done += 1
        else:
            self.failed += 1
