"""`mobench run`: plan, check, run what is missing, and print what came out."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from mobench.cli.command import PLUGINS, RESULTS, SUITES, Command, names
from mobench.cli.suite_check import refuse_mistakes
from mobench.core.resources import Resources
from mobench.core.settings import choice, flag, integer, real, text
from mobench.errors import UserError
from mobench.planning.suite_parts import EVERYWHERE, SEEDS
from mobench.store.lease import LEASE_SECONDS

if TYPE_CHECKING:
    from rich.console import Console

    from mobench.planning.plan import Plan

NAMES = {"cpu": "core", "cuda": "GPU"}


class Run(Command, Resources):
    """Run a suite, or what is missing of it.

    Exit code: 0 when all runs are done, 1 when some failed, 130 when interrupted.
    """

    name = "run"
    spelling: ClassVar = {"data_root": "data.root", "data_download": "data.download"}
    sections: ClassVar = {
        "methods.A.SETTING=V": "a method's setting; a list is a sweep",
        "problems.P.SETTING=V": "a problem's setting; a list is a sweep",
        "training.SETTING=V": "optimizer, lr, steps, epochs, schedule, …",
    }
    examples = """
  mobench run suite=escape
  mobench run suite=escape methods=pcd,mgda seeds=3 methods.pcd.tau=[0.01,0.1] jobs=2
  mobench run suite=synthetic plugins=my_method.py methods=+my-method
  mobench run problem=two-wells methods=pcd,mgda training.steps=500
  mobench run --dry-run suite=plane training.lr=0.02 results=elsewhere
"""

    suite: list[str] = SUITES
    profile: str | None = text(None, meaning="one of the suite's profiles", shown="NAME")
    problem: list[str] = names(meaning="problems to run without a suite, by all methods or methods=A,B", shown="P[,Q]")
    methods: list[str] = names(meaning="only these methods; +A adds one to the suite's own", shown="A,B")
    problems: list[str] = names(meaning="only these problems; +P adds one to the suite's own", shown="P,Q")
    precision: str | None = choice(None, ("float32", "bf16"), meaning="arithmetic of networks; part of what a run is")
    compile: str | None = choice(None, ("true", "false"), meaning="torch.compile networks; part of what a run is")
    seeds: Any = SEEDS
    results: str = RESULTS
    jobs: int = integer(os.cpu_count() or 1, low=0, meaning="worker processes; 0: this process")
    time_limit: float | None = real(None, low=0.0, low_open=True, meaning="seconds that each run may take")
    retry: str = choice("none", ("none", "failed"), meaning="which stored runs to run again")
    lease: float = real(
        LEASE_SECONDS,
        low=1.0,
        meaning="seconds without a heartbeat after which other drivers on this folder do this one's runs",
    )
    plugins: list[str] = PLUGINS
    dry_run: bool = flag(False, meaning="print the plan and an estimate of time, run nothing")
    quiet: bool = flag(False, meaning="no progress, only the tables at the end")

    def execute(self) -> int:
        from mobench.planning.suite import load_suites, suite_files

        if not self.suite and not self.problem:
            raise UserError(f"suite=NAME is missing, or problem=NAME; suites: {', '.join(suite_files())}")
        if self.problem and (self.suite or self.profile):
            given = f"suite={','.join(self.suite)}" if self.suite else f"profile={self.profile}"
            raise UserError(f"problem={','.join(self.problem)} runs without a suite; leave {given} out")
        suites = load_suites(self.suite, self.profile, self.device)
        self.check()
        self.export()
        if self.jobs and not self.dry_run:
            from mobench.running import fork_server

            fork_server.start()  # loads torch while the plan is made
        from mobench.core.registry import load_plugins
        from mobench.planning.plan import make_plan
        from mobench.planning.problem_suite import suite_of_problem

        plugins = [str(Path(path).resolve()) for path in self.plugins]
        load_plugins(plugins)
        suites += [suite_of_problem(name) for name in self.problem]
        refuse_mistakes(suites, entries=True)
        plans = [make_plan(suite, self.overrides) for suite in suites]
        _print_remarks(plans)
        return _dry_run(plans, self) if self.dry_run else _run(plans, self, plugins)

    @property
    def overrides(self) -> dict[str, Any]:
        """What the line changes in the suites."""
        whole = {key: getattr(self, key) for key in ("methods", "problems", "seeds", "time_limit", *EVERYWHERE)}
        return {**self.others, **{key: value for key, value in whole.items() if value}}


def _print_remarks(plans: Sequence[Plan]) -> None:
    for remark in dict.fromkeys(plan.suite.remark for plan in plans if plan.suite.remark):
        print(remark)


def _run(plans: Sequence[Plan], asked: Run, plugins: list[str]) -> int:
    from rich.console import Console

    from mobench.planning.data import with_data
    from mobench.planning.plan import expected_work, make_groups, make_plan
    from mobench.reporting.terminal import print_results
    from mobench.running.executor import execute as execute_groups
    from mobench.running.progress import Progress
    from mobench.scoring.suite_results import SuiteResults
    from mobench.store.folder import Store

    console = Console(highlight=False)
    root = Path(asked.results)
    store = Store(root)
    todo = partial(store.pending, retry_failed=asked.retry == "failed")
    ready = with_data(plans, lambda plan: todo(plan.specs), partial(make_plan, overrides=asked.overrides))
    _print_remarks([plan for plan in ready if plan not in plans])
    plans = ready
    specs = {spec.id: spec for plan in plans for spec in plan.specs}
    limits = {spec.id: plan.suite.time_limit for plan in plans for spec in plan.specs}
    warn = partial(_warn, console)
    pending = todo(specs.values(), on_damage=warn)
    console.print(f"{len(specs)} runs: {len(specs) - len(pending)} stored, {len(pending)} to do, results in {root}")
    for plan in plans:
        store.add_manifest(plan.suite, [spec.id for spec in plan.specs], plan.base, plugins)
    groups = make_groups(pending)
    weights = [expected_work(group) for group in groups]
    with Progress(console, total=len(pending), quiet=asked.quiet, work=sum(weights)) as progress:
        tally = execute_groups(
            groups,
            store,
            jobs=asked.jobs,
            time_limit=max((limits[spec.id] for spec in pending), default=None),
            plugins=plugins,
            on_event=progress.update,
            weights=weights,
            lease=asked.lease,
        )
    if tally.interrupted:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C has nothing left to interrupt
        console.print("Interrupted. What is done is kept; the same command does the rest.")
        return 130
    failed = 0
    for plan in plans:
        results = SuiteResults.read(
            plan.suite,
            partial(store.records, [spec.id for spec in plan.specs], on_damage=warn),
            planned=len(plan.specs),
            differs=plan.differs,
        )
        print_results(console, results)
        failed += results.failed
    if failed:
        console.print(f"{failed} of {len(specs)} runs failed: `mobench results results={root} --failed` says why")
    console.print(f"Records are in {root}; `mobench results`, `show` and `report` read them.")
    return 1 if failed else 0


def _warn(console: Console, damage: UserError) -> None:
    """Report a damaged record; its run is done again."""
    console.print(f"warning: {damage}", style="yellow", soft_wrap=True)


def _spell_hours(hours: float) -> str:
    return f"{hours:,.0f}" if hours >= 10 else f"{hours:.2g}"


def _dry_run(plans: Sequence[Plan], asked: Run) -> int:
    from rich.console import Console

    from mobench.core.resources import resources
    from mobench.core.speed import ASSUMED, speed_of
    from mobench.planning.estimate import estimate_seconds, states_its_cost
    from mobench.planning.plan import make_groups
    from mobench.reporting.terminal import print_plan
    from mobench.running.progress import spell_seconds
    from mobench.store.folder import Store

    console = Console(highlight=False)
    store = Store(Path(asked.results))
    here = "cpu" if resources().torch_device == "cpu" else "cuda"
    total = on_a_gpu = 0.0
    for plan in plans:
        pending = store.pending(plan.specs, retry_failed=asked.retry == "failed")
        groups = make_groups(pending)
        seconds = estimate_seconds(groups, here)
        print_plan(console, plan, len(pending), f"{spell_seconds(seconds)} on one {NAMES[here]}")
        total += seconds
        on_a_gpu += estimate_seconds([group for group in groups if states_its_cost(group)], "cuda")
    jobs = max(1, asked.jobs)
    console.print(f"In all about {spell_seconds(total / jobs)} with jobs={jobs}; nothing was run.")
    if on_a_gpu:
        console.print(f"This device: {speed_of(here)}.")
    if on_a_gpu and here == "cpu":
        console.print(f"On a GPU with {ASSUMED['cuda']}: about {_spell_hours(on_a_gpu / 3600)} GPU hours.")
    return 0
