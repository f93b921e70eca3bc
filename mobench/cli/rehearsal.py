"""What `mobench run rehearsal=true` does with its plan: a short run of each cell, every metric, and nothing kept."""

from __future__ import annotations

import io
import math
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mobench.core.columns import FALLBACK

if TYPE_CHECKING:
    from mobench.cli.run import Run
    from mobench.planning.plan import Plan
    from mobench.running.executors.base import Executor
    from mobench.running.planned_work import PlannedWork, Request
    from mobench.store.folder import Store
    from mobench.store.record import RunRecord


def rehearse(work: PlannedWork, request: Request, executor: Executor, asked: Run) -> int:
    """Do the short runs in a folder that is thrown away, and say of each cell whether it can be run here."""
    from mobench.core.resources import resources
    from mobench.planning.rehearsal import cell_names
    from mobench.reporting.lasting_console import lasting_console
    from mobench.running.executor import execute
    from mobench.running.progress import Progress, spell_seconds
    from mobench.store.folder import Store

    console, store, started = lasting_console(), Store(request.root), time.monotonic()
    specs = {spec.id: spec for plan in work.plans for spec in plan.specs}
    console.print(
        f"A rehearsal of {len(specs)} cells on {resources().torch_device}: made-up data where a problem has it"
    )
    limits = [plan.suite.time_limit for plan in work.plans]
    with Progress(console, total=len(work.pending), quiet=asked.quiet, work=sum(work.weights)) as progress:
        tally = execute(
            work.groups,
            store,
            executor=executor,
            share=asked.share,
            cpu_problems=work.cpu_problems,
            time_limit=None if executor.in_this_process else max(limits, default=None),
            memory_limit=asked.memory_limit,
            plugins=request.plugins,
            on_event=progress.update,
            weights=work.weights,
            lease=asked.lease,
        )
    records = {record.spec.id: record for record in store.records(specs)}
    wrong = 0
    for name, spec in zip(cell_names(list(specs.values())), specs.values(), strict=True):
        if tally.interrupted and spec.id not in records:
            continue
        found = list(_findings(records.get(spec.id)))
        wrong += bool(found)
        seconds = records[spec.id].outcome.timings.get("seconds") if spec.id in records else None
        took = "" if seconds is None else f" ({seconds:.1f} s of training)"
        for line in (f"{'FAILED' if found else 'ok    '} {name}{took}", *(f"       {line}" for line in found)):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
    if tally.interrupted:
        console.print(f"Interrupted after {len(records)} of {len(specs)} cells. Nothing was kept.")
        return 130
    for plan in work.plans:
        if trouble := _trouble_of_tables(store, plan):
            wrong += 1
            console.print(f"FAILED the tables of {plan.suite.name}: {trouble}", markup=False, soft_wrap=True)
    spent = spell_seconds(time.monotonic() - started)
    console.print(
        f"{len(specs)} cells in {spent}: {'all can be run' if not wrong else f'{wrong} cannot'}. Nothing was kept."
    )
    return 1 if wrong else 0


def _findings(record: RunRecord | None) -> Iterator[str]:
    """Yield what is wrong with a run: why it failed, or the declared metrics that it does not have."""
    if record is None:
        yield "it left no record"
        return
    outcome = record.outcome
    if outcome.status != "done":
        yield outcome.reason
        return
    measured = {**outcome.timings, **outcome.metrics}
    for metric in record.spec.build_problem().metrics():
        value = measured.get(metric.name)
        if value is None or not math.isfinite(value):
            yield f"the metric {metric.name} is {'missing' if value is None else value}"
    if fallbacks := [name for name in outcome.diagnostics if name.startswith(FALLBACK)]:
        yield f"the device could not do everything: {', '.join(fallbacks)}"


def _trouble_of_tables(store: Store, plan: Plan) -> str:
    """Make the suite's tables, for nobody to see; return what went wrong."""
    from rich.console import Console

    from mobench.reporting.terminal import print_results
    from mobench.scoring.results import SuiteResults
    from mobench.store.stored_runs import StoredRuns

    ids = [spec.id for spec in plan.specs]
    unseen = Console(file=io.StringIO(), width=200)
    try:
        found = SuiteResults.read(plan.suite, StoredRuns(store, ids), planned=len(ids), differs="a rehearsal")
        print_results(unseen, found, everything=True)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is the finding
        return f"{type(error).__name__}: {error}"
    return ""
