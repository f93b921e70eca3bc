"""Repeat as many runs of a bundle as the reviewer's budget holds, drawn at random from all of them.

What a run costs is measured here: a few steps of its problem and method are timed, and the steps it takes are counted
by its spec. What a record says of its own time decides nothing. Code inside a bundle is never run. A plugin runs only
if the user gives its file and the file's hash is the one in the bundle; it is imported and run in processes of its
own, under a limit.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mobench.core.registry import load_plugins, methods, source_digest
from mobench.core.spec import RunSpec, hash_of
from mobench.errors import UserError
from mobench.planning.plan import cpu_problems, make_groups
from mobench.running.executor import execute
from mobench.running.guarded_call import call_in_worker
from mobench.running.worker_main import Note
from mobench.store.folder import Store
from mobench.store.record import RunRecord
from mobench.store.validation import shown
from mobench.submissions.bundle import Bundle
from mobench.submissions.completeness import spec_label
from mobench.training.optimizer import Training

TRIED_STEPS = 10
"""So many steps of each kind of run are timed."""
TRIAL_SECONDS = 60.0
"""A trial that takes longer is stopped; the budget stops it, where that is shorter."""
PATIENCE = 10.0
PATIENCE_SECONDS = 60.0
"""Repeated runs are stopped after ten times what they should take, but not before a minute."""


@dataclass(frozen=True)
class Rerun:
    """What was repeated, and what was not."""

    possible: int = 0
    """How many runs could have been drawn."""
    drawn: int = 0
    """How many of them were, and were repeated now."""
    obstacles: tuple[str, ...] = ()
    """Why runs could not be drawn."""


def rerun(bundle: Bundle, store: Store, *, budget: float, seed: int, files: Mapping[str, Path]) -> Rerun:
    """Repeat runs of the bundle that are not in `store` yet, for `budget` seconds; `seed` says in which order.

    The new records go to `store`. Only for a bundle without findings: then every run is one of this mobench's own
    suites and has their size.
    """
    runnable, plugins, obstacles = _runnable(bundle, files)
    known = {record.id for record in store.records({record.id for record in bundle.records})}
    specs = _prepared([record.spec for record in bundle.records if record.spec.method in runnable], obstacles)
    fresh = [spec for spec in specs if spec.id not in known]
    costs = _measured_costs(fresh, plugins, budget) if budget > 0 else {}
    able = [spec for spec in fresh if costs.get(spec.id, budget) <= budget]
    if budget > 0 and len(able) < len(fresh):
        obstacles.append(f"{len(fresh) - len(able)} runs would take longer here than the budget of {budget:g} s")
    drawn = draw(able, costs, budget, seed) if budget > 0 else []
    if drawn:
        patience = max(PATIENCE_SECONDS, PATIENCE * sum(costs[spec.id] for spec in drawn))
        execute(
            make_groups(drawn),
            store,
            jobs=1,
            time_limit=patience,
            plugins=plugins,
            cpu_problems=cpu_problems(drawn),
        )
        obstacles += _discarded(bundle, store, {spec.id for spec in drawn})
    return Rerun(len(able) + len(specs) - len(fresh), len(drawn), tuple(obstacles))


def _discarded(bundle: Bundle, store: Store, drawn: set[str]) -> list[str]:
    """Throw away what was stopped from outside here and not there: that says nothing about the record."""
    reasons = []
    finished = {record.id for record in bundle.records if record.outcome.status == "done"}
    for again in store.records(drawn & finished):
        if again.outcome.status == "failed" and again.outcome.failed_at_step is None:
            store.path(again.id).unlink()
            reasons.append(f"{spec_label(again.spec)}: {shown(again.outcome.reason, 200)}")
    return reasons


def draw(specs: Sequence[RunSpec], costs: Mapping[str, float], budget: float, seed: int) -> list[RunSpec]:
    """Return runs in random order up to the first that exceeds what is left of the budget.

    It is not skipped for a cheaper one: a run's chance to be drawn does not depend on what it costs.
    """
    drawn: list[RunSpec] = []
    for spec in random.Random(seed).sample(specs, len(specs)):
        budget -= costs[spec.id]
        if budget < 0.0:
            break
        drawn.append(spec)
    return drawn


def _measured_costs(specs: Sequence[RunSpec], plugins: Sequence[str], budget: float) -> dict[str, float]:
    """Return the seconds that each run should take here: steps times the measured seconds of a step."""
    trials: dict[str, RunSpec] = {}
    for spec in specs:
        training = {**spec.training, "epochs": 0, "steps": min(TRIED_STEPS, _steps(spec))}
        trials.setdefault(_kind(spec), replace(spec, training=training))
    with tempfile.TemporaryDirectory(prefix="mobench-verify-") as folder:
        store = Store(Path(folder))
        limit = min(TRIAL_SECONDS, budget)
        groups, on_cpu = make_groups(list(trials.values())), cpu_problems(specs)
        execute(groups, store, jobs=1, time_limit=limit, plugins=plugins, cpu_problems=on_cpu)
        timed = {record.id: _seconds(record) for record in store.records()}
    costs = {}
    for spec in specs:
        trial = trials[_kind(spec)]
        steps = trial.training["steps"]
        costs[spec.id] = timed[trial.id] * max(1, _steps(spec)) / max(1, steps)
    return costs


def _seconds(record: RunRecord) -> float:
    """Return what the steps of a trial took; of one that failed, all of its time, as if it had taken one step."""
    timings = record.outcome.timings
    per_step, steps = timings.get("seconds_per_step"), timings.get("steps")
    if record.outcome.status == "done" and per_step is not None and steps:
        return per_step * steps
    return timings.get("seconds") or 0.0


def _kind(spec: RunSpec) -> str:
    """Return what runs of equal cost per step have in common."""
    return hash_of([spec.problem, spec.problem_settings, spec.method])


def _steps(spec: RunSpec) -> int:
    return Training(**spec.run_training).total_steps(spec.build_problem().steps_per_epoch())


def _runnable(bundle: Bundle, files: Mapping[str, Path]) -> tuple[set[str], list[str], list[str]]:
    """Return the methods that can be run here, the plugin files they need, and why others cannot."""
    runnable, plugins, obstacles = set(), [], []
    defined: dict[str, dict[str, int] | UserError] = {}
    for method in bundle.methods:
        if method.source is None:
            runnable.add(method.label)
            continue
        if method.source not in files:
            obstacles.append(f"the file of {method.name} is not given: plugins=FILE, sha256 {method.source[:12]}…")
            continue
        if method.source not in defined:
            try:
                defined[method.source] = call_in_worker(
                    "mobench.submissions.rerun:methods_of_file", files[method.source], method.source
                )
            except UserError as error:
                defined[method.source] = error
        found = defined[method.source]
        if isinstance(found, UserError):
            obstacles.append(shown(found, 300))
        elif found.get(method.name) != method.version:
            obstacles.append(f"the given file does not define {method.label}")
        else:
            runnable.add(method.label)
            plugins.append(str(files[method.source]))
    return runnable, plugins, obstacles


def methods_of_file(note: Note, file: Path, digest: str) -> dict[str, int]:
    """Import a plugin, and return the versions of the methods that it defines, by name. To be called in a worker."""
    note(f"plugins={file}: importing it")
    load_plugins([file])
    return {name: kind.version for name, kind in methods().items() if source_digest(kind) == digest}


def _prepared(specs: Sequence[RunSpec], obstacles: list[str]) -> list[RunSpec]:
    """Keep the runs whose problem has its data here."""
    reasons: dict[str, str] = {}
    ready = []
    for spec in specs:
        key = hash_of([spec.problem, spec.problem_settings])
        if key not in reasons:
            try:
                spec.build_problem().prepare()
                reasons[key] = ""
            except UserError as error:
                reasons[key] = f"{spec.problem}: {error}"
        if not reasons[key]:
            ready.append(spec)
    obstacles += sorted({reason for reason in reasons.values() if reason})
    return ready
