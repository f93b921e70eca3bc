"""`mobench run`: plan, check, run what is missing, and print what came out."""

from __future__ import annotations

import io
import shlex
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

from mobench.cli.command import PLUGINS, RESULTS, SUITES, Command, names
from mobench.cli.rehearsal import rehearse
from mobench.cli.suite_check import refuse_mistakes
from mobench.core.plain_text import plain
from mobench.core.resources import Resources
from mobench.core.settings import choice, flag, integer, real, size, text
from mobench.errors import StorageError, UserError
from mobench.planning.overrides import section
from mobench.planning.suite_parts import EVERYWHERE, SEEDS
from mobench.running.executors.base import Executor, Share, executors
from mobench.running.executors.here import refuse_limits
from mobench.store.lease import LEASE_SECONDS

if TYPE_CHECKING:
    from rich.console import Console

    from mobench.planning.plan import Plan
    from mobench.planning.suite import Suite
    from mobench.running.event_log import EventLog
    from mobench.running.events import Event
    from mobench.running.machine import Place
    from mobench.running.planned_work import PlannedWork, Request
    from mobench.running.worker_main import Note

NAMES = {"cpu": "core", "cuda": "GPU"}


class Run(Command, Resources):
    """Run a suite, or what is missing of it.

    Exit code: 0 when all runs ended, 1 when some failed otherwise than by diverging, 130 when interrupted. The first
    Ctrl-C saves running work, a second one stops at once.
    """

    name = "run"
    spelling: ClassVar = {"data_root": "data.root", "data_download": "data.download"}
    sections: ClassVar = {
        "methods.A.SETTING=V": "a method's setting; a list is a sweep",
        "problems.P.SETTING=V": "a problem's setting; a list is a sweep",
        "training.SETTING=V": "optimizer, lr, steps, epochs, schedule, …",
        **{
            f"{name}.{key}={setting.shown}": f"of executor={name}: {setting.meaning}"
            for name, kind in executors().items()
            for key, setting in kind.settings.items()
        },
    }
    examples = """
  mobench run suite=escape
  mobench run suite=escape methods=pcd,mgda seeds=3 methods.pcd.tau=[0.01,0.1] jobs=2
  mobench run suite=synthetic plugins=my_method.py methods=+my-method
  mobench run problem=two-wells methods=pcd,mgda training.steps=500
  mobench run suite=compression profile=paper rehearsal=true
  mobench run --dry-run suite=plane training.lr=0.02 results=elsewhere
"""

    suite: list[str] = SUITES
    profile: str | None = text(None, meaning="one of the suite's profiles", shown="NAME")
    problem: list[str] = names(meaning="problems to run without a suite, by all methods or methods=A,B", shown="P[,Q]")
    methods: list[str] = names(meaning="only these methods; +A adds one to the suite's own", shown="A,B")
    problems: list[str] = names(meaning="only these problems; +P adds one to the suite's own", shown="P,Q")
    precision: str | None = choice(None, ("float32", "bf16"), meaning="arithmetic of networks; part of what a run is")
    compile: str | None = choice(None, ("true", "false"), meaning="torch.compile networks; part of what a run is")
    tf32: str | None = choice(
        None, ("auto", "true", "false"), meaning="TF32 in float32 products of a GPU; part of what a run is"
    )
    seeds: Any = SEEDS
    results: str = RESULTS
    executor: str = choice("local", tuple(executors()), meaning="where runs are done")
    jobs: int | None = integer(
        None, low=0, meaning="jobs at once (default: what cores or GPUs carry); 0: in this process, without limits"
    )
    gpus: str = text("auto", meaning="CUDA devices to use, by position; auto: all, none: the CPU", shown="auto|0,1")
    jobs_per_gpu: int = integer(1, low=1, meaning="jobs that share a GPU")
    time_limit: float | None = real(None, low=0.0, low_open=True, meaning="seconds that each run may take")
    memory_limit: int | None = size(None, meaning="memory that each run's process may take")
    retry: str = choice("none", ("none", "failed"), meaning="which stored runs to run again")
    lease: float = real(
        LEASE_SECONDS,
        low=1.0,
        meaning="seconds without a heartbeat after which other drivers on this folder do this one's runs",
    )
    log: str | None = text(None, meaning="append what happens to this file, a JSON object a line", shown="FILE")
    plugins: list[str] = PLUGINS
    dry_run: bool = flag(False, meaning="print the plan and an estimate of time, run nothing")
    quiet: bool = flag(False, meaning="no progress, only the tables at the end")

    def execute(self) -> int:
        if not self.rehearsal:
            return self.run_in(Path(self.results))
        self.refuse_what_a_rehearsal_ignores()
        with TemporaryDirectory(prefix="mobench-rehearsal-") as folder:
            return self.run_in(Path(folder))

    def refuse_what_a_rehearsal_ignores(self) -> None:
        """Refuse keys that have no meaning where nothing is kept."""
        for name in ("results", "retry", "dry_run", "log"):
            if getattr(self, name) != self.settings[name].default:
                raise UserError(
                    f"{name}={getattr(self, name)} is not accepted with rehearsal=true, which keeps nothing"
                )
        if self.chosen_executor().elsewhere:
            raise UserError(
                f"executor={self.executor} is not accepted with rehearsal=true, which looks at the machine it runs on; "
                "start it there"
            )

    def run_in(self, root: Path) -> int:
        """Do all this in a results folder."""
        from mobench.planning.suite import load_suites, suite_files

        if not self.suite and not self.problem:
            raise UserError(f"suite=NAME is missing, or problem=NAME; suites: {', '.join(suite_files())}")
        if self.problem and (self.suite or self.profile):
            given = f"suite={','.join(self.suite)}" if self.suite else f"profile={self.profile}"
            raise UserError(f"problem={','.join(self.problem)} runs without a suite; leave {given} out")
        executor = self.chosen_executor()
        self.settle_device(executor)
        suites = load_suites(self.suite, self.profile, self.device)
        if root.exists() and not root.is_dir():
            raise UserError(f"results={root} is a file; results takes a folder")
        from mobench.running import fork_server
        from mobench.running.planned_work import Request, has_foreign_code, plan_work

        plugins = [str(Path(path).resolve()) for path in self.plugins]
        guarded = not executor.in_this_process
        needed = guarded and (has_foreign_code(plugins) or not (self.dry_run or executor.elsewhere))
        started = needed and fork_server.start()  # loads torch while the plan is made
        try:
            workers = executor.places(self.share, uses_device=False)
            on_device = _places_on_device(executor, self.share)
            request = Request(
                suites,
                self.overrides,
                root,
                plugins,
                problems=self.problem,
                retry_failed=self.retry == "failed",
                workers=len(workers),
                device_workers=on_device if isinstance(on_device, UserError) else len(on_device),
                cpu_by_chance=self.device == "auto" and isinstance(on_device, list) and on_device[0].device == "cpu",
                prepare=not self.dry_run,
                rehearsal=self.rehearsal,
            )
            _print_remarks(suites)
            if self.dry_run:
                gpus = on_device if isinstance(on_device, list) else []
                return _dry_run(request, workers, gpus, executor.jobs_per_gpu(self.share), guarded)
            from mobench.running.event_log import EventLog

            log = None if self.log is None else EventLog(Path(self.log))
            work = plan_work(request, check_suites, guarded=guarded)
            on_device_runs = [spec for spec in work.pending if spec.problem not in work.cpu_problems]
            if on_device_runs and guarded and not executor.elsewhere:
                from mobench.running.doctor import precisions_of, refuse_unusable_devices

                refuse_unusable_devices(self.share, precisions_of(on_device_runs))
        except UserError:
            if started:
                fork_server.abandon()  # there is nothing to load torch for
            raise
        if self.rehearsal:
            return rehearse(work, request, executor, self)
        return _run(work, request, self, executor, log)

    def settle_device(self, executor: Executor) -> None:
        """Refuse a device that is not there, and make the one that is meant known to all processes."""
        from mobench.running.machine import refuse_contradiction

        refuse_contradiction(self.device, self.gpus)
        if self.gpus == "none":
            self.device = "cpu"
        if not executor.elsewhere:
            self.check()
        self.export()

    @property
    def share(self) -> Share:
        """What part of the machines may be used."""
        return Share(self.jobs, self.gpus, self.jobs_per_gpu)

    @property
    def overrides(self) -> dict[str, Any]:
        """What the line changes in the suites."""
        whole = {key: getattr(self, key) for key in ("methods", "problems", "seeds", "time_limit", *EVERYWHERE)}
        others = {key: value for key, value in self.others.items() if key.partition(".")[0] not in executors()}
        if self.tf32:
            others["training.tf32"] = self.tf32
        return {**others, **{key: value for key, value in whole.items() if value}}

    def chosen_executor(self) -> Executor:
        """Return the executor with its settings; settings of another one are a mistake."""
        name = "here" if self.jobs == 0 else self.executor
        if name == "here":
            refuse_limits(self.time_limit, self.memory_limit)
        for other in executors():
            given = section(self.others, other)
            if given and other != name:
                raise UserError(f"{other}.{next(iter(given))} is a setting of executor={other}, not of {name}")
        return executors()[name](**section(self.others, name))


def check_suites(suites: Sequence[Suite]) -> None:
    """Refuse what suites name and what does not exist."""
    refuse_mistakes(suites, entries=True)


def _places_on_device(executor: Executor, share: Share) -> list[Place] | UserError:
    """Return the places of runs that use a device, or why there are none: not every plan has such runs."""
    try:
        return executor.places(share, uses_device=True)
    except UserError as error:
        return error


def _print_remarks(suites: Sequence[Suite]) -> None:
    for remark in dict.fromkeys(suite.remark for suite in suites if suite.remark):
        print(remark)


def _run(work: PlannedWork, request: Request, asked: Run, executor: Executor, log: EventLog | None) -> int:
    from rich.text import Text

    from mobench.reporting.lasting_console import lasting_console
    from mobench.running.executor import execute as execute_groups
    from mobench.running.guarded_call import call_in_worker
    from mobench.running.planned_work import has_foreign_code, silent
    from mobench.running.progress import Progress
    from mobench.store.folder import Store

    console = lasting_console()
    root = request.root
    store = Store(root)
    plans, pending = work.plans, work.pending
    told = {suite.remark for suite in request.suites}
    _print_remarks([plan.suite for plan in plans if plan.suite.remark not in told])
    for damage in work.damage:
        _warn(console, damage)
    specs = {spec.id: spec for plan in plans for spec in plan.specs}
    limits = {spec.id: plan.suite.time_limit for plan in plans for spec in plan.specs}
    limit = None if executor.in_this_process else max((limits[spec.id] for spec in pending), default=None)
    console.print(f"{len(specs)} runs: {len(specs) - len(pending)} stored, {len(pending)} to do, results in {root}")
    try:
        for plan in plans:
            store.add_manifest(plan.suite, [spec.id for spec in plan.specs], plan.base, request.plugins)
    except OSError as error:
        raise StorageError.of(root, error) from error
    if log is not None:
        log.begin(len(specs), len(pending), store.root)
    with Progress(console, total=len(pending), quiet=asked.quiet, work=sum(work.weights)) as progress:

        def tell(event: Event) -> None:
            progress.update(event)
            if log is not None:
                log.update(event)

        tally = execute_groups(
            work.groups,
            store,
            executor=executor,
            share=asked.share,
            time_limit=limit,
            memory_limit=asked.memory_limit,
            plugins=request.plugins,
            on_event=tell,
            weights=work.weights,
            lease=asked.lease,
            cpu_problems=work.cpu_problems,
        )
        if log is not None:
            log.end(tally)
    if tally.interrupted:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a third Ctrl-C has nothing left to interrupt
        again = shlex.join(["mobench", "run", *asked.line])
        console.print(f"Interrupted. What is done is kept. To go on: {again}", soft_wrap=True)
        return 130
    if executor.in_this_process or not has_foreign_code(request.plugins):
        failed, diverged = print_tables(silent, console, request, plans)
    else:
        look = (console.width, console.color_system if console.is_terminal else None)
        tables, failed, diverged = call_in_worker("mobench.cli.run:tables_as_text", request, plans, *look)
        console.print(Text.from_ansi(tables), no_wrap=True, overflow="ignore", crop=False)
    if diverged:
        console.print(
            f"{diverged} of {len(specs)} runs diverged: their losses or gradients left the finite numbers. That is a "
            f"result of the method; tables count it as failed. `mobench results results={root} --failed` lists them"
        )
    if failed > diverged:
        others = failed - diverged
        console.print(f"{others} of {len(specs)} runs failed: `mobench results results={root} --failed` says why")
    console.print(f"Records are in {root}; `mobench results`, `show` and `report` read them.")
    return 1 if failed > diverged else 0


def print_tables(note: Note, console: Console, request: Request, plans: Sequence[Plan]) -> tuple[int, int]:
    """Print what suites report of their results, and return how many runs failed, and how many of these diverged."""
    from mobench.cli.results import command_for_all
    from mobench.reporting.terminal import print_results
    from mobench.running.planned_work import load_noting
    from mobench.scoring.results import SuiteResults
    from mobench.store.folder import Store
    from mobench.store.stored_runs import StoredRuns

    try:
        load_noting(note, request.plugins)  # what they declare stands in the tables
    except UserError as error:
        _warn(console, error)
    note("scoring the results", limited=False)
    store, failed, diverged = Store(request.root), 0, 0
    for plan in plans:
        ids = [spec.id for spec in plan.specs]
        runs = StoredRuns(store, ids, partial(_warn, console), f"{plan.suite.name}.{plan.suite.profile}")
        results = SuiteResults.read(plan.suite, runs, planned=len(ids), differs=plan.differs)
        print_results(console, results, more=command_for_all(plan.suite, str(request.root)))
        failed, diverged = failed + results.failed, diverged + results.diverged
    return failed, diverged


def tables_as_text(
    note: Note, request: Request, plans: Sequence[Plan], width: int, colors: str | None
) -> tuple[str, int, int]:
    """Do as `print_tables` for a terminal elsewhere: foreign code takes part, and this is another process."""
    from rich.console import Console

    sheet = io.StringIO()
    console = Console(file=sheet, width=width, color_system=colors, force_terminal=colors is not None, highlight=False)  # type: ignore[arg-type]
    failed, diverged = print_tables(note, console, request, plans)
    return sheet.getvalue(), failed, diverged


def _warn(console: Console, damage: UserError | str) -> None:
    """Report a damaged record; its run is done again."""
    from rich.text import Text

    console.print(Text(plain(f"warning: {damage}"), style="yellow"), soft_wrap=True)


def _spell_hours(hours: float) -> str:
    return f"{hours:,.0f}" if hours >= 10 else f"{hours:.2g}"


def _dry_run(
    request: Request, cores: Sequence[Place], devices: Sequence[Place], jobs_per_gpu: float, guarded: bool
) -> int:
    from rich.console import Console

    from mobench.core.speed import ASSUMED, speed_of
    from mobench.reporting.terminal import print_plan
    from mobench.running.guarded_call import call_in_worker
    from mobench.running.machine import SHARED_GPU, speedup
    from mobench.running.planned_work import has_foreign_code, silent
    from mobench.running.progress import spell_seconds

    console = Console(highlight=False)
    if guarded and has_foreign_code(request.plugins):
        estimates: list[Estimate] = call_in_worker("mobench.cli.run:estimate", request)
    else:
        estimates = estimate(silent, request)
    here = estimates[0].device
    for each in estimates:
        taken = [(each.cpu_seconds, "cpu"), (each.seconds, here)]
        parts = [f"{spell_seconds(seconds)} on one {NAMES[kind]}" for seconds, kind in taken if seconds]
        print_plan(console, each.plan, each.pending, " and ".join(parts) or spell_seconds(0.0))
    on_cpu, on_device = sum(each.cpu_seconds for each in estimates), sum(each.seconds for each in estimates)
    used = devices if on_device else cores
    gain = speedup(used, jobs_per_gpu)
    longest = max(on_cpu / len(cores), on_device / gain)
    shared = f" (jobs that share a GPU count as {SHARED_GPU:g}: assumed, not measured)" if gain < len(used) else ""
    console.print(f"In all about {spell_seconds(longest)} with jobs={len(used)}{shared}; nothing was run.")
    on_a_gpu = sum(each.gpu_seconds for each in estimates)
    if on_a_gpu:
        console.print(f"This device: {speed_of(here)}.")
    if on_a_gpu and here == "cpu":
        console.print(f"On a GPU with {ASSUMED['cuda']}: about {_spell_hours(on_a_gpu / 3600)} GPU hours.")
    return 0


@dataclass(frozen=True)
class Estimate:
    """What the runs of one plan that are to do will cost."""

    plan: Plan
    pending: int
    device: str
    """`cpu` or `cuda`: where runs that use a device would run here."""
    seconds: float
    """What those would take."""
    cpu_seconds: float
    """What the others would."""
    gpu_seconds: float
    """What those of them that state their cost would take on a GPU."""


def estimate(note: Note, request: Request) -> list[Estimate]:
    """Plan, and time a few steps of every kind of run."""
    from mobench.core.resources import resources
    from mobench.planning.estimate import estimate_seconds, states_its_cost
    from mobench.planning.plan import make_groups
    from mobench.running.planned_work import plan_noting

    work = plan_noting(note, request, check_suites)
    here = "cpu" if resources().torch_device == "cpu" else "cuda"
    todo = {spec.id for spec in work.pending}
    estimates = []
    for plan in work.plans:
        groups = make_groups([spec for spec in plan.specs if spec.id in todo])
        note(f"trying a few steps of suite {plan.suite.name}{_of(request.plugins)}:")
        on_device = [group for group in groups if group[0].problem not in work.cpu_problems]
        others = [group for group in groups if group[0].problem in work.cpu_problems]
        seconds, cpu_seconds = estimate_seconds(on_device, here), estimate_seconds(others, "cpu")
        stated = estimate_seconds([group for group in groups if states_its_cost(group)], "cuda")
        estimates.append(Estimate(plan, sum(map(len, groups)), here, seconds, cpu_seconds, stated))
    return estimates


def _of(plugins: Sequence[str]) -> str:
    return f" with plugins={','.join(plugins)}" if plugins else ""
