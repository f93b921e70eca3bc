"""Run groups of runs in this process or in worker processes, so that a run that crashes fails alone."""

from __future__ import annotations

import heapq
import itertools
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import threadpoolctl  # type: ignore[import-untyped]

from mobench.core.outcome import Outcome
from mobench.core.registry import load_plugins
from mobench.core.spec import RunSpec
from mobench.errors import UserError
from mobench.running import fork_server
from mobench.running.environment import environment
from mobench.running.events import Event, Finished, FinishedRun, Split, Started, Tally
from mobench.running.interruption import Interruption, TimeLimitExceeded, time_limited
from mobench.running.worker import Job, Lost, Summary, Train, perform, utc_now
from mobench.running.worker_slot import Slot
from mobench.store.folder import Store
from mobench.store.lease import LEASE_SECONDS, Leases
from mobench.store.record import Environment, RunRecord

TRAINER = "mobench.training.loop:train_group"
POLL_SECONDS = 0.1
SIGTERM_SECONDS = 0.5
LOOK_SECONDS = 1.0
"""How often runs of other drivers are looked at; less often where there are more than a thousand."""
LEFT = "they left a group that would have waited for them, or another driver took them over"
LOADING_SECONDS = 30.0
"""Past this time a fork server that has not reported is used anyway."""


def execute(
    groups: Sequence[Sequence[RunSpec]],
    store: Store,
    *,
    jobs: int = 1,
    time_limit: float | None = None,
    plugins: Sequence[str] = (),
    on_event: Callable[[Event], None] = lambda event: None,
    weights: Sequence[float] | None = None,
    train: Train | str = TRAINER,
    lease: float = LEASE_SECONDS,
) -> Tally:
    """Train all groups, each in lockstep, and store a record per run.

    `jobs` worker processes share the work; 0 trains in this process, where a crash cannot be
    contained. `time_limit` bounds the seconds of a group as of a single run. A group that crashes,
    hangs or raises is lost, and its unfinished runs are tried one by one; a single run that does so
    becomes a failed record. `weights` are the groups' expected seconds: the longest begin first.

    Drivers on one results folder share the work: a run that another driver has is left to it, and counted once
    its record is there. A driver whose heartbeat stays away for `lease` seconds loses its runs to the others.

    SIGINT and SIGTERM end the execution early: what is stored stays, the rest is not begun.
    """
    _check(groups, jobs, time_limit, weights)
    load_plugins(plugins)
    store.sweep()
    started = time.perf_counter()
    leases = Leases(store.root, lease)
    with Interruption() as interruption, leases if groups else nullcontext():
        execution = _Execution(groups, store, leases, time_limit, on_event, weights, train, interruption)
        if jobs == 0:
            execution.run_here()
        elif groups:
            execution.run_in_workers(jobs, plugins)
    execution.tally.seconds = time.perf_counter() - started
    if execution.tally.done + execution.tally.failed < execution.tally.planned:
        execution.tally.signal = interruption.signal
    return execution.tally


@dataclass(frozen=True)
class _Attempt:
    """A job under way."""

    job: Job
    work: float
    """Expected work of each of its runs."""
    started: str
    clock: float


class _Execution:
    """The queue of jobs and the results so far."""

    def __init__(
        self,
        groups: Sequence[Sequence[RunSpec]],
        store: Store,
        leases: Leases,
        time_limit: float | None,
        on_event: Callable[[Event], None],
        weights: Sequence[float] | None,
        train: Train | str,
        interruption: Interruption,
    ) -> None:
        self.store = store
        self.leases = leases
        self.time_limit = time_limit
        self.on_event = on_event
        self.train = train
        self.interruption = interruption
        self.environment: Environment = environment()
        self.tally = Tally(planned=sum(map(len, groups)))
        self.stamps = {spec.id: store.stamp(spec.id) for group in groups for spec in group}
        self.order = itertools.count()
        self.queue: list[tuple[float, int, tuple[RunSpec, ...], float]] = []
        self.elsewhere: list[tuple[tuple[RunSpec, ...], float, float]] = []
        """What other drivers are doing: runs, work, weight."""
        self.look_again = 0.0
        for index, group in enumerate(groups):
            work = 1.0 if weights is None else weights[index] / len(group)
            self.push(tuple(group), work, 0.0 if weights is None else weights[index])

    def push(self, specs: tuple[RunSpec, ...], work: float, weight: float) -> None:
        """Queue a group; the heaviest leaves first, equals in the order they came."""
        heapq.heappush(self.queue, (-weight, next(self.order), specs, work))

    def take(self) -> _Attempt | None:
        """Begin the next job that no other driver has; None if there is none."""
        if self.elsewhere and time.monotonic() > self.look_again:
            self.look_again = time.monotonic() + LOOK_SECONDS * max(
                1.0, sum(len(group[0]) for group in self.elsewhere) / 1000
            )
            for group in self.elsewhere:
                self.push(*group)
            self.elsewhere = []
        while self.queue:
            weight, _, specs, work = heapq.heappop(self.queue)
            if mine := self.lease(specs, work, -weight):
                self.on_event(Started(len(mine)))
                stamps = {spec.id: self.stamps[spec.id] for spec in mine}
                root = self.store.root.absolute()
                job = Job(mine, root, self.train, self.environment, stamps, self.leases.fence)
                return _Attempt(job, work, utc_now(), time.perf_counter())
        return None

    def lease(self, specs: Sequence[RunSpec], work: float, weight: float) -> tuple[RunSpec, ...]:
        """Return those of a group's runs that are ours to do; what others have is noted, what they did is counted."""
        mine: list[RunSpec] = []
        elsewhere: list[RunSpec] = []
        stored: list[RunSpec] = []
        for spec in specs:
            free = self.leases.acquire(spec.id)
            is_open = self.store.is_open(spec.id, self.stamps[spec.id])
            (stored if not is_open else mine if free else elsewhere).append(spec)
        if elsewhere:
            self.elsewhere.append((tuple(elsewhere), work, weight))
        if stored:
            self.on_event(Started(len(stored)))
            self.finish([(spec, self.summary(spec.id)) for spec in stored], work)
        return tuple(mine)

    def summary(self, id_: str) -> Summary:
        """Return what the stored record of a run says."""
        outcome = self.store.load(id_).outcome
        return Summary(id_, outcome.status, outcome.reason)

    def run_here(self) -> None:
        """Train in this process, with one thread as a worker would."""
        with _one_thread():
            while (self.queue or self.elsewhere) and not self.interruption.requested:
                attempt = self.take()
                if attempt is None:
                    self.interruption.wait(POLL_SECONDS)
                    continue
                try:
                    result = perform(attempt.job, self.guard(), passed_on=(KeyboardInterrupt, TimeLimitExceeded))
                except KeyboardInterrupt:
                    if not self.interruption.wait(0.0):  # a plugin raised it
                        raise
                    return
                except TimeLimitExceeded:
                    text = f"the run took longer than its time limit of {self.time_limit:g} s and was stopped"
                    result = Lost(text, resumable=True)
                self.absorb(attempt, result)

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Within this block training may be stopped at any moment."""
        with self.interruption.immediate(), time_limited(self.time_limit):
            yield

    def run_in_workers(self, jobs: int, plugins: Sequence[str]) -> None:
        """Keep up to `jobs` worker processes busy until the queue is empty or a signal arrives."""
        loading = time.monotonic() + LOADING_SECONDS
        while not fork_server.is_ready() and time.monotonic() < loading:
            if self.interruption.wait(POLL_SECONDS):
                fork_server.abandon()
                return
        slots = [Slot(plugins) for _ in range(min(jobs, self.tally.planned))]
        busy: dict[Slot, _Attempt] = {}
        try:
            while (self.queue or self.elsewhere or busy) and not self.interruption.requested:
                for slot in slots:
                    if slot not in busy and (attempt := self.take()) is not None:
                        busy[slot] = attempt
                        slot.submit(attempt.job, self.time_limit)
                if busy:
                    wait([slot.future for slot in busy], timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
                else:
                    self.interruption.wait(POLL_SECONDS)
                self.collect(busy)
            self.collect(busy)
        finally:
            for slot in slots:
                slot.stop()
            for slot in slots:
                slot.join()

    def collect(self, busy: dict[Slot, _Attempt]) -> None:
        """Take in the results that have arrived."""
        for slot, attempt in list(busy.items()):
            result = slot.poll()
            if result is None:
                continue
            del busy[slot]
            # A signal to the whole process group reaches workers as well: their death is no run's fault.
            patience = SIGTERM_SECONDS if isinstance(result, Lost) and result.signal == signal.SIGTERM else 0.0
            if isinstance(result, Lost) and self.interruption.wait(patience):
                continue
            self.absorb(attempt, result)

    def absorb(self, attempt: _Attempt, result: list[Summary] | Lost) -> None:
        """Count what is finished; queue again or record as failed what is lost."""
        specs = {spec.id: spec for spec in attempt.job.specs}
        if isinstance(result, Lost):
            stored = [id_ for id_ in specs if self.store.stamp(id_) != self.stamps[id_]]
            records = self.store.records(stored)
            summaries = [Summary(record.id, record.outcome.status, record.outcome.reason) for record in records]
        else:
            summaries = result
        self.finish([(specs.pop(summary.id), summary) for summary in summaries], attempt.work)
        if specs and not isinstance(result, Lost):  # they left the group, or another driver took them over
            self.on_event(Split(len(specs), LEFT))
            self.elsewhere.append((tuple(specs.values()), attempt.work, attempt.work * len(specs)))
        elif isinstance(result, Lost) and specs:
            if len(attempt.job.specs) > 1:
                for spec in specs.values():
                    self.push((spec,), attempt.work, attempt.work)
                self.on_event(Split(len(specs), result.reason))
            else:
                self.give_up(attempt, result)

    def give_up(self, attempt: _Attempt, lost: Lost) -> None:
        """Record a single run as failed."""
        (spec,) = attempt.job.specs
        outcome = Outcome.failure(lost.error, time.perf_counter() - attempt.clock)
        record = RunRecord(spec, outcome, None, self.environment, attempt.started, utc_now())
        if not self.leases.fence.holds(spec.id) or not self.store.save_once(record, self.stamps[spec.id]):
            self.elsewhere.append(((spec,), attempt.work, attempt.work))
            self.on_event(Split(1, LEFT))
            return
        if not lost.resumable:
            self.store.checkpoint(spec.id).unlink(missing_ok=True)
        self.finish([(spec, Summary(spec.id, outcome.status, lost.reason))], attempt.work)

    def finish(self, results: Sequence[tuple[RunSpec, Summary]], work: float) -> None:
        """Count runs that have their records."""
        runs = []
        for spec, summary in results:
            self.leases.release(spec.id)
            label = f"{spec.method} on {spec.problem}, seed {spec.seed}"
            runs.append(FinishedRun(spec.id, label, summary.status, summary.reason, work))
        failures = [run for run in runs if run.status == "failed"]
        self.tally.done += len(runs) - len(failures)
        self.tally.failures += failures
        if runs:
            self.on_event(Finished(tuple(runs)))


def _check(
    groups: Sequence[Sequence[RunSpec]], jobs: int, time_limit: float | None, weights: Sequence[float] | None
) -> None:
    if jobs < 0:
        raise UserError(f"jobs={jobs} is not accepted; jobs takes a whole number from 0")
    if groups and time_limit is not None and not time_limit > 0:
        raise UserError(f"time_limit={time_limit:g} is not accepted; time_limit takes a number of seconds above 0")
    if jobs == 0 and time_limit is not None and threading.current_thread() is not threading.main_thread():
        raise UserError(f"time_limit={time_limit:g} needs worker processes outside of the main thread: jobs=1 or more")
    if weights is not None and len(weights) != len(groups):
        raise ValueError(f"{len(groups)} groups have {len(weights)} weights")
    ids = [spec.id for group in groups for spec in group]
    if len(set(ids)) != len(ids) or not all(groups):
        raise ValueError("every group needs a run, and every run belongs to one group")


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute with one thread, as workers do: the number of threads can change the last digit."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpoolctl.threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(threads)
