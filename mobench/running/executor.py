"""Run groups of runs on an executor, so that a run that crashes fails alone and nothing that is done is lost."""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

from mobench.core.outcome import Outcome
from mobench.core.registry import file_digest, load_plugins, plugin_paths
from mobench.core.spec import RunSpec
from mobench.errors import StorageError, UserError
from mobench.running import fork_server
from mobench.running.device_faults import FRESH_TIMES
from mobench.running.environment import environment
from mobench.running.events import Closed, Event, Finished, FinishedRun, Split, Started, Stepped, Tally, label_of
from mobench.running.executors.base import Executor, Limits, Setup, Share
from mobench.running.executors.here import Here
from mobench.running.executors.local import Local
from mobench.running.interruption import Interruption
from mobench.running.job import Broken, Group, Halted, Job, Lost, Steps, Summary, Train
from mobench.running.publishing import Publisher
from mobench.running.worker import utc_now
from mobench.store.folder import Store
from mobench.store.lease import LEASE_SECONDS, Leases
from mobench.store.record import RunRecord

TRAINER = "mobench.training.loop:train"
POLL_SECONDS = 0.1
STOP_SECONDS = 30.0
"""How long jobs may take to save their state after the first signal."""
LOOK_SECONDS = 1.0
"""How often the folder and runs of other drivers are looked at; these less often where there are over a thousand."""
TAKEN_OVER = "another driver took them over"
JOB_SECONDS = 3.0
"""A job gets groups of shipped methods until it is expected to take so long: less would be mostly handing out."""
JOBS_PER_WORKER = 4
"""A worker gets at least so many jobs, if there are groups for them, so that all have something to do until the end."""
KILLED_TIMES = 4
"""How often a job that is killed from outside begins again without having come further."""


def execute(
    groups: Sequence[Sequence[RunSpec]],
    store: Store,
    *,
    executor: Executor | None = None,
    jobs: int | None = 1,
    share: Share | None = None,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    plugins: Sequence[str] = (),
    on_event: Callable[[Event], None] = lambda event: None,
    weights: Sequence[float] | None = None,
    train: Train | str = TRAINER,
    lease: float = LEASE_SECONDS,
    cpu_problems: Collection[str] = (),
) -> Tally:
    """Train all groups, each in lockstep, and store a record per run.

    Without an `executor`, `jobs` worker processes of this machine share the work; 0 trains in this process, for
    debuggers: there a crash cannot be contained, limits are refused, and signals do what they usually do. `weights`
    are the groups' expected seconds: the longest begin first, and short ones of shipped methods share a job. The
    limits, of seconds and of bytes, bound a job as they bound a single run. A job that crashes, hangs or raises is
    lost: its unfinished groups are tried one by one, and then their runs; a single run that does so becomes a failed
    record. What was killed from outside begins again from its checkpoint, and what ran out of memory is tried once
    more alone. Runs whose device failed go on from their checkpoints in a fresh process, and a device on which nothing
    comes further is closed; the problems `cpu_problems` use none.

    Drivers on one results folder share the work: a run that another driver has is left to it, and counted once
    its record is there. A driver whose heartbeat stays away for `lease` seconds loses its runs to the others.

    SIGINT, SIGTERM and SIGHUP end the execution early: running work is finished or saved, the rest is not
    begun. A second signal ends it at once.
    """
    share = share or Share(jobs=jobs)
    executor = executor or (Here() if share.jobs == 0 else Local())
    _check(groups, share, time_limit, weights)
    if executor.in_this_process:
        load_plugins(plugins)
    started = time.perf_counter()
    if groups:
        _prepare_folder(store)
    leases = Leases(store.root, lease)
    kinds = [group[0].problem not in cpu_problems for group in groups]
    parts = [[group] for group in groups]
    if groups and weights is not None:
        parts = []
        for uses_device in sorted(set(kinds)):
            own = [index for index, kind in enumerate(kinds) if kind == uses_device]
            workers = len(executor.places(share, uses_device))
            parts += divide([groups[index] for index in own], [weights[index] for index in own], workers)
    weights = [float(len(group)) for group in groups] if weights is None else weights
    work = {spec.id: weight / len(group) for group, weight in zip(groups, weights, strict=True) for spec in group}
    publisher = Publisher(store.root, leases.owner, len(work), sum(weights))
    within = (leases, publisher) if groups else ()
    with Interruption(listen=not executor.in_this_process) as interruption, ExitStack() as stack:
        for context in within:
            stack.enter_context(context)
        tell = partial(_tell, (publisher.update, on_event))
        files = _by_digest(plugins)
        setup = (files, share.jobs_per_gpu, cpu_problems)
        execution = _Execution(parts, work, store, leases, tell, train, interruption, *setup)
        if groups:
            limits = Limits(time_limit, memory_limit)
            execution.run(executor, Setup(limits, share, interruption, execution.stepped, kinds=tuple(set(kinds))))
    execution.tally.seconds = time.perf_counter() - started
    if execution.tally.done + execution.tally.failed < execution.tally.planned:
        execution.tally.signal = interruption.signal
    return execution.tally


def divide(groups: Sequence[Group], weights: Sequence[float], workers: int) -> list[list[Group]]:
    """Divide groups into jobs by their expected seconds, the longest first; foreign code has jobs of its own."""
    most = min(JOB_SECONDS, sum(weights) / (JOBS_PER_WORKER * workers))
    jobs: list[list[Group]] = []
    shared: list[Group] = []
    room = -1.0
    for group, weight in sorted(zip(groups, weights, strict=True), key=lambda pair: -pair[1]):
        if any(spec.sources for spec in group):
            jobs.append([group])
            continue
        if weight > room:
            shared, room = [], most
            jobs.append(shared)
        shared.append(group)
        room -= weight
    return jobs


@dataclass
class _Attempt:
    """A job and how it went so far."""

    job: Job
    started: str = ""
    clock: float = 0.0
    kills: int = 0
    """How often it was killed from outside since its checkpoint was written."""
    faults: int = 0
    """How often the device failed under it since then."""
    saved: tuple[int, int] | None = None
    """What its checkpoint was when it began."""


class _Execution:
    """The queue of jobs and the results so far."""

    def __init__(
        self,
        jobs: Sequence[Sequence[Group]],
        work: Mapping[str, float],
        store: Store,
        leases: Leases,
        on_event: Callable[[Event], None],
        train: Train | str,
        interruption: Interruption,
        plugins: Mapping[str, str],
        jobs_per_gpu: int,
        cpu_problems: Collection[str],
    ) -> None:
        self.store = store
        self.leases = leases
        self.on_event = on_event
        self.train = train
        self.interruption = interruption
        self.plugins = plugins
        self.jobs_per_gpu = jobs_per_gpu
        self.cpu_problems = cpu_problems
        self.environment = environment()
        self.work = work
        """The expected seconds of each run."""
        self.tally = Tally(planned=len(work))
        self.stamps = {id_: store.stamp(id_) for id_ in work}
        self.finished: list[str] = []
        self.order = itertools.count()
        self.queues: dict[bool, list[tuple[tuple[bool, bool, bool, int, float, int], _Attempt]]] = {True: [], False: []}
        """The jobs that use a device, and those that do not."""
        self.suspects: set[str] = set()
        """Methods under which a device failed: others first, which tell whether the device is to blame."""
        self.elsewhere: list[_Attempt] = []
        """What other drivers are doing."""
        self.look_again = self.folder_seen = 0.0
        self.busy: dict[tuple[str, ...], _Attempt] = {}
        self.killed = False
        """Whether a process may have died while it wrote a file."""
        for job in jobs:
            self.push(_Attempt(self.job(job)))

    def job(self, groups: Sequence[Group]) -> Job:
        """Return the job of training `groups`, with the plugins that they need."""
        digests = sorted({digest for group in groups for spec in group for digest in spec.sources.values()})
        files = tuple(self.plugins[digest] for digest in digests if digest in self.plugins)
        job = Job(tuple(map(tuple, groups)), self.store.root.absolute(), self.train, self.environment, files)
        uses_device = any(spec.problem not in self.cpu_problems for spec in job.specs)
        return replace(job, uses_device=uses_device, jobs_per_gpu=self.jobs_per_gpu)

    def push(self, attempt: _Attempt) -> None:
        """Queue a job; the heaviest leaves first, equals in the order they came, and those to be alone last.

        Jobs whose device failed wait for those that were not tried yet; then one after the other is tried to its end.
        """
        suspect = any(spec.method in self.suspects for spec in attempt.job.specs)
        begun = (attempt.faults > 0, -attempt.faults)
        key = (attempt.job.alone, suspect, *begun, -self.work_of(attempt.job), next(self.order))
        heapq.heappush(self.queues[attempt.job.uses_device], (key, attempt))

    def work_of(self, job: Job) -> float:
        """Return the expected seconds of a job."""
        return sum(self.work[spec.id] for spec in job.specs)

    def run(self, executor: Executor, setup: Setup) -> None:
        """Keep the executor busy until the queue is empty or a signal arrives."""
        try:
            try:
                with self.interruption.immediate():
                    executor.open(setup)
            except KeyboardInterrupt:
                if not self.interruption.requested:
                    raise
                fork_server.abandon()
                return
            while (self.waiting or self.elsewhere or self.busy) and not self.interruption.requested:
                self.look_after_folder()
                self.fill(executor)
                self.refuse_to_wait_for_nothing(executor)
                self.collect(executor)
            self.wind_down(executor)
        finally:
            executor.close()
        if self.killed or self.interruption.insisted:
            _clean(self.store)
        self.check_folder()

    def look_after_folder(self) -> None:
        """Stop if somebody has deleted the folder: without its manifests nobody finds what would be stored."""
        if time.monotonic() - self.folder_seen > LOOK_SECONDS:
            self.leases.check_there()
            self.folder_seen = time.monotonic()

    def fill(self, executor: Executor) -> None:
        """Begin jobs that no other driver has while there is room."""
        if self.elsewhere and time.monotonic() > self.look_again:
            others = sum(len(attempt.job.specs) for attempt in self.elsewhere)
            self.look_again = time.monotonic() + LOOK_SECONDS * max(1.0, others / 1000)
            for attempt in self.elsewhere:
                self.push(attempt)
            self.elsewhere = []
        for uses_device, queue in self.queues.items():
            while queue and executor.has_room(uses_device, queue[0][-1].job.alone) and not self.interruption.requested:
                attempt = heapq.heappop(queue)[-1]
                if not self.lease(attempt):
                    continue
                attempt.started, attempt.clock = utc_now(), time.perf_counter()
                attempt.saved = self.store.checkpoint_stamp(attempt.job.specs[0].id)
                self.on_event(Started(len(attempt.job.specs), _name(attempt.job), label_of(attempt.job.specs)))
                self.busy[_key(attempt.job)] = attempt
                executor.submit(attempt.job)

    @property
    def waiting(self) -> bool:
        """Whether jobs are queued."""
        return any(self.queues.values())

    def refuse_to_wait_for_nothing(self, executor: Executor) -> None:
        """Raise when all that is left waits for a device, and none will have room again."""
        if self.queues[True] and not self.queues[False] and not self.busy and (reason := executor.why_closed()):
            runs = sum(len(attempt.job.specs) for _, attempt in self.queues[True])
            raise UserError(
                f"no GPU is left: {reason}. {runs} runs are not done; when the cause is removed, the same command "
                "goes on"
            )

    def lease(self, attempt: _Attempt) -> bool:
        """Keep of a job what is ours to do, if anything; what others have is noted, what they did is counted."""
        job = attempt.job
        mine: set[str] = set()
        elsewhere: set[str] = set()
        stored: list[RunSpec] = []
        for spec in job.specs:
            free = self.leases.acquire(spec.id)
            if not self.store.is_open(spec.id, self.stamps[spec.id]):
                stored.append(spec)
            else:
                (mine if free else elsewhere).add(spec.id)
        if elsewhere:
            self.leave(job.only(elsewhere))
        if stored:
            self.on_event(Started(len(stored)))
            self.finish([(spec, self.summary(spec.id)) for spec in stored], "")
        stamps = {id_: self.stamps[id_] for id_ in mine}
        attempt.job = replace(job, groups=job.only(mine), stamps=stamps, fence=self.leases.fence)
        return bool(mine)

    def leave(self, groups: Sequence[Group]) -> None:
        """Leave runs to the driver that has them, to be looked at later."""
        self.elsewhere.append(_Attempt(self.job(groups)))

    def summary(self, id_: str) -> Summary:
        """Return what the stored record of a run says."""
        outcome = self.store.load(id_).outcome
        return Summary(id_, outcome.status, outcome.reason)

    def wind_down(self, executor: Executor) -> None:
        """Let running work save its state or finish, unless a second signal insists."""
        if not self.busy or self.interruption.insisted:
            return
        executor.ask_to_stop()
        deadline = time.monotonic() + STOP_SECONDS
        while self.busy and not self.interruption.insisted and time.monotonic() < deadline:
            self.collect(executor)

    def collect(self, executor: Executor) -> None:
        """Take in the results that have arrived; with nothing under way, wait for other drivers or for room."""
        if not self.busy and (self.waiting or self.elsewhere):
            self.interruption.wait(POLL_SECONDS)
        for job, result in executor.poll(POLL_SECONDS):
            attempt = self.busy.pop(_key(job))
            if isinstance(result, Broken):
                self.leases.check_there()
                if not job.foreign:
                    raise StorageError(result.reason)
                self.store.check_writable()
                result = Lost(result.reason)  # only its own process could not write
            self.absorb(attempt, result, executor)

    def absorb(self, attempt: _Attempt, result: list[Summary] | Lost | Halted, executor: Executor) -> None:
        """Count what is finished; queue again or record as failed what is not."""
        specs = {spec.id: spec for spec in attempt.job.specs}
        if isinstance(result, list):
            summaries = result
        else:
            self.killed = self.killed or isinstance(result, Lost)
            stored = [id_ for id_ in specs if self.store.stamp(id_) != self.stamps[id_]]
            records = self.store.records(stored)
            summaries = [Summary(record.id, record.outcome.status, record.outcome.reason) for record in records]
        name = _name(attempt.job)
        self.finish([(specs.pop(summary.id), summary) for summary in summaries], name)
        if isinstance(result, Lost) and result.closed:
            self.on_event(Closed(result.closed, result.reason))
        if not specs:
            return
        rest = attempt.job.only(specs.keys())
        if isinstance(result, list):
            self.on_event(Split(len(specs), TAKEN_OVER, job=name))
            self.leave(rest)
        elif isinstance(result, Halted):
            self.begin_again(replace(attempt, job=self.job(rest)), "", name)
        elif result.of_device:
            self.after_device_fault(attempt, rest, result, executor)
        elif result.cause == "killed" and self.may_begin_again(attempt, further=bool(summaries)):
            self.begin_again(replace(attempt, job=self.job(rest)), result.reason, name)
        elif len(attempt.job.specs) > 1:
            smaller = rest if len(attempt.job.groups) > 1 else [(spec,) for spec in specs.values()]
            for group in smaller:
                self.push(_Attempt(self.job([group])))
            self.on_event(Split(len(specs), result.reason, job=name))
        elif result.cause == "memory" and not attempt.job.alone:
            self.begin_again(replace(attempt, job=replace(attempt.job, alone=True)), result.reason, name)
        else:
            self.give_up(attempt, result)

    def after_device_fault(self, attempt: _Attempt, rest: Sequence[Group], lost: Lost, executor: Executor) -> None:
        """Queue again what the device failed under, or record it as failed if fresh processes fail alike.

        That is the first group; those after it, which had not begun, become a job of their own.
        """
        group, none_left = rest[0], bool(executor.why_closed())
        attempt, name = replace(attempt, job=self.job([group])), _name(attempt.job)
        exhausted = False
        if lost.cause == "device":
            attempt.faults = 1 if lost.further else attempt.faults + 1
            exhausted = attempt.faults > (1 if none_left else FRESH_TIMES) and (none_left or not lost.closed)
            self.suspect(group[0].method)
        if exhausted and len(group) == 1:
            reason = f"{lost.reason} (so did {attempt.faults - 1} fresh processes)"
            self.give_up(attempt, replace(lost, reason=reason, resumable=True))
            return
        for part in [[group]] if not exhausted else [[(spec,)] for spec in group]:
            self.push(replace(attempt, job=self.job(part), faults=0 if exhausted else attempt.faults))
        if len(rest) > 1:
            self.push(_Attempt(self.job(rest[1:])))
        self.on_event(Split(sum(map(len, rest)), lost.reason, again=not exhausted, job=name))

    def suspect(self, method: str) -> None:
        """Queue jobs of a method behind all others."""
        if method not in self.suspects:
            self.suspects.add(method)
            attempts = [attempt for _, attempt in self.queues[True]]
            self.queues[True].clear()
            for attempt in attempts:
                self.push(attempt)

    def may_begin_again(self, attempt: _Attempt, further: bool) -> bool:
        """Count a kill from outside, from the last one after which the job came `further`; say whether it goes on."""
        further = further or self.store.checkpoint_stamp(attempt.job.specs[0].id) != attempt.saved
        attempt.kills = 1 if further else attempt.kills + 1
        return attempt.kills <= KILLED_TIMES or self.interruption.requested

    def begin_again(self, attempt: _Attempt, reason: str, name: str) -> None:
        """Queue what is left of the job of that name, which goes on from its checkpoint."""
        self.push(attempt)
        self.on_event(Split(len(attempt.job.specs), reason, again=True, job=name))

    def give_up(self, attempt: _Attempt, lost: Lost) -> None:
        """Record a single run as failed."""
        (spec,) = attempt.job.specs
        if lost.cause == "memory":
            lost = replace(lost, reason=f"{lost.reason} (also when it was tried again alone)")
        outcome = Outcome.failure(lost.error, time.perf_counter() - attempt.clock)
        record = RunRecord(spec, outcome, None, self.environment, attempt.started, utc_now())
        try:
            saved = self.leases.fence.holds(spec.id) and self.store.save_once(record, self.stamps[spec.id])
        except OSError as error:
            raise StorageError.of(self.store.root, error) from error
        if not saved:
            self.leave([(spec,)])
            self.on_event(Split(1, TAKEN_OVER, job=spec.id))
            return
        if not lost.resumable:
            self.store.checkpoint(spec.id).unlink(missing_ok=True)
        self.finish([(spec, Summary(spec.id, outcome.status, lost.reason))], spec.id)

    def stepped(self, job: Job, steps: Steps) -> None:
        """Tell how far a job is."""
        if _key(job) in self.busy:
            self.on_event(Stepped(_name(job), len(job.specs), self.work_of(job), steps))

    def finish(self, results: Sequence[tuple[RunSpec, Summary]], job: str) -> None:
        """Count runs that have their records; `job` is the one that made them, empty for another driver's."""
        runs = []
        for spec, summary in results:
            self.leases.release(spec.id)
            runs.append(FinishedRun(spec.id, label_of([spec]), summary.status, summary.reason, self.work[spec.id]))
        failures = [run for run in runs if run.status == "failed"]
        self.finished += [run.id for run in runs]
        self.tally.done += len(runs) - len(failures)
        self.tally.failures += failures
        if runs:
            self.on_event(Finished(tuple(runs), job))

    def check_folder(self) -> None:
        """Refuse to call finished what is no longer there."""
        gone = sum(not self.store.has(id_) for id_ in self.finished)
        if gone:
            raise StorageError(
                f"{gone} of {len(self.finished)} records that were just stored in {self.store.root} are gone: somebody "
                "deletes files there; the same command repeats those runs"
            )


def _tell(listeners: Sequence[Callable[[Event], None]], event: Event) -> None:
    for listener in listeners:
        listener(event)


def _name(job: Job) -> str:
    """Return what events call a job."""
    return job.specs[0].id


def _key(job: Job) -> tuple[str, ...]:
    return tuple(spec.id for spec in job.specs)


def _prepare_folder(store: Store) -> None:
    """Create the results folder, since one that is missing later was deleted, and clean up after killed drivers."""
    try:
        store.root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError.of(store.root, error) from error
    _clean(store)


def _clean(store: Store) -> None:
    try:
        store.sweep()
    except OSError as error:
        raise StorageError.of(store.root, error) from error


def _by_digest(plugins: Sequence[str]) -> dict[str, str]:
    """Return the plugins' files by what identifies them in a run's sources."""
    return {file_digest(file): str(file) for file in plugin_paths(plugins)}


def _check(
    groups: Sequence[Sequence[RunSpec]], share: Share, time_limit: float | None, weights: Sequence[float] | None
) -> None:
    if share.jobs is not None and share.jobs < 0:
        raise UserError(f"jobs={share.jobs} is not accepted; jobs takes a whole number from 0")
    if groups and time_limit is not None and not time_limit > 0:
        raise UserError(f"time_limit={time_limit:g} is not accepted; time_limit takes a number of seconds above 0")
    if weights is not None and len(weights) != len(groups):
        raise ValueError(f"{len(groups)} groups have {len(weights)} weights")
    ids = [spec.id for group in groups for spec in group]
    if len(set(ids)) != len(ids) or not all(groups):
        raise ValueError("every group needs a run, and every run belongs to one group")
