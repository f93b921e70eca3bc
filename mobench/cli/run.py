"""`mobench run`: plan, check, run what is missing, and print what came out."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobench.core.settings import Choice, Integer, Real
from mobench.errors import UserError, unknown
from mobench.planning.overrides import parse_overrides, section

if TYPE_CHECKING:
    from rich.console import Console

    from mobench.planning.plan import Plan

KEYS = (
    "suite",
    "profile",
    "methods",
    "problems",
    "seeds",
    "training",
    "results",
    "jobs",
    "time_limit",
    "retry",
    "plugins",
    "device",
    "channels_last",
    "compile",
    "data",
    "checkpoint_seconds",
)

NAMES = {"cpu": "core", "cuda": "GPU"}

EXAMPLES = """
examples:
  mobench run suite=escape
  mobench run suite=escape methods=pcd,mgda seeds=3 methods.pcd.tau=[0.01,0.1] jobs=2
  mobench run suite=synthetic plugins=my_method.py methods=+my-method
  mobench run suite=plane training.lr=0.02 results=elsewhere --dry-run

keys:
  suite=NAME[,NAME]      a suite of `mobench list suites`, or a YAML file
  profile=NAME           one of the suite's profiles
  methods=A,B            only these methods; +A adds one to the suite's own
  methods.A.SETTING=V    a method's setting; a list is a sweep
  problems=P,Q           only these problems
  problems.P.SETTING=V   a problem's setting; a list is a sweep
  seeds=N | [7,42]       how many seeds, or which
  training.SETTING=V     optimizer, lr, steps, epochs, schedule, …
  results=DIR            where records are stored (default: results)
  jobs=N                 worker processes (default: the number of cores; 0: this process)
  time_limit=SECONDS     for each run
  retry=failed           run failed runs again
  plugins=PATH[,PATH]    Python files or folders with methods and problems of your own
  device=cpu|cuda        where networks train (default: cuda where there is one)
  channels_last=false    memory format of convolutional networks
  compile=true           torch.compile networks
  data.root=DIR          where data sets lie (default: data)
  data.download=true     fetch what is missing there
  checkpoint_seconds=N   how often a long run saves its state (default: 60)
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("settings", nargs="+", metavar="key=value", help="what to run, see below")
    parser.add_argument("--dry-run", action="store_true", help="print the plan and an estimate of time, run nothing")
    parser.add_argument("--quiet", action="store_true", help="no progress, only the tables at the end")
    parser.epilog = EXAMPLES


def execute(arguments: argparse.Namespace) -> int:
    """Run the command: 0 when all runs are done, 1 when some failed, 130 when interrupted."""
    overrides = parse_overrides(arguments.settings, KEYS)
    if "suite" not in overrides:
        from mobench.planning.suite import suite_files

        raise UserError(f"suite=NAME is missing; suites: {', '.join(suite_files())}")
    from mobench.core.registry import load_plugins
    from mobench.planning.plan import make_plans

    settings = _check(overrides)
    _use_machine(overrides)
    if settings["jobs"] and not arguments.dry_run:
        from mobench.running import fork_server

        fork_server.start()  # loads torch while the plan is made
    plugins = [str(Path(path).resolve()) for path in overrides.get("plugins", [])]
    load_plugins(plugins)
    plans = make_plans(overrides["suite"], overrides.get("profile"), overrides)
    root = Path(str(overrides.get("results", "results")))
    for remark in {plan.suite.remark for plan in plans if plan.suite.remark}:
        print(remark)
    if arguments.dry_run:
        return _dry_run(plans, root, settings)
    return _run(plans, root, settings, plugins, arguments.quiet)


def _check(overrides: dict[str, Any]) -> dict[str, Any]:
    """Check the settings of the command itself."""
    import os

    accepted = {
        "jobs": Integer(os.cpu_count() or 1, "worker processes", 0),
        "retry": Choice("none", "which runs to run again", ("none", "failed")),
    }
    if "time_limit" in overrides:
        limit = Real(0.0, "seconds", 0.0, low_open=True)
        overrides["time_limit"] = limit.parse("time_limit", overrides["time_limit"])
    return {
        key: setting.parse(key, overrides[key]) if key in overrides else setting.default
        for key, setting in accepted.items()
    }


def _use_machine(overrides: Mapping[str, Any]) -> None:
    """Hand what is said about this machine to all processes of the run."""
    from mobench.core.resources import Resources

    given = {key.replace(".", "_"): value for key, value in overrides.items()}
    machine = Resources(**{key: given[key] for key in Resources.settings if key in given})
    for key in section(overrides, "data"):
        if f"data_{key}" not in Resources.settings:
            raise unknown("key", f"data.{key}", ("data.root", "data.download"))
    machine.check()
    machine.export()


def _run(plans: Sequence[Plan], root: Path, settings: Mapping[str, Any], plugins: list[str], quiet: bool) -> int:
    from rich.console import Console

    from mobench.core.spec import hash_of
    from mobench.planning.plan import expected_work, make_groups
    from mobench.reporting.terminal import print_results
    from mobench.running.executor import execute as execute_groups
    from mobench.running.progress import Progress
    from mobench.scoring.suite_results import SuiteResults
    from mobench.store.folder import Store

    console = Console(highlight=False)
    store = Store(root)
    specs = {spec.id: spec for plan in plans for spec in plan.specs}
    limits = {spec.id: plan.suite.time_limit for plan in plans for spec in plan.specs}
    warn = partial(_warn, console)
    pending = store.pending(specs.values(), retry_failed=settings["retry"] == "failed", on_damage=warn)
    console.print(f"{len(specs)} runs: {len(specs) - len(pending)} stored, {len(pending)} to do, results in {root}")
    for spec in {hash_of([spec.problem, spec.problem_settings]): spec for spec in pending}.values():
        spec.build_problem().prepare()
    for plan in plans:
        store.add_manifest(plan.suite, [spec.id for spec in plan.specs])
    groups = make_groups(pending)
    weights = [expected_work(group) for group in groups]
    with Progress(console, total=len(pending), quiet=quiet, work=sum(weights)) as progress:
        tally = execute_groups(
            groups,
            store,
            jobs=settings["jobs"],
            time_limit=max((limits[spec.id] for spec in pending), default=None),
            plugins=plugins,
            on_event=progress.update,
            weights=weights,
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


def _dry_run(plans: Sequence[Plan], root: Path, settings: Mapping[str, Any]) -> int:
    from rich.console import Console

    from mobench.core.resources import resources
    from mobench.planning.estimate import estimate_seconds, states_its_cost
    from mobench.planning.plan import make_groups
    from mobench.reporting.terminal import print_plan
    from mobench.running.progress import spell_seconds
    from mobench.store.folder import Store

    console = Console(highlight=False)
    store = Store(root)
    here = "cpu" if resources().torch_device == "cpu" else "cuda"
    total = on_a_gpu = 0.0
    for plan in plans:
        pending = store.pending(plan.specs, retry_failed=settings["retry"] == "failed")
        groups = make_groups(pending)
        seconds = estimate_seconds(groups, here)
        print_plan(console, plan, len(pending), f"{spell_seconds(seconds)} on one {NAMES[here]}")
        total += seconds
        on_a_gpu += estimate_seconds([group for group in groups if states_its_cost(group)], "cuda")
    jobs = max(1, settings["jobs"])
    console.print(f"In all about {spell_seconds(total / jobs)} with jobs={jobs}; nothing was run.")
    if on_a_gpu and here == "cpu":
        console.print(f"On a GPU that sustains 15 TFLOP/s about {on_a_gpu / 3600:,.0f} GPU hours.")
    return 0
