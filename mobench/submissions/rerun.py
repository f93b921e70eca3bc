"""Repeat a random sample of the cheap runs in a clean store, and compare.

Code inside a bundle is never run. A plugin runs only if the user gives its file and the file's hash is
the one in the bundle.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mobench.core.registry import load_plugins, methods, source_digest
from mobench.errors import UserError
from mobench.planning.plan import make_groups
from mobench.running.executor import execute
from mobench.store.folder import Store
from mobench.store.record import RunRecord
from mobench.submissions.comparison import differences, same_setup
from mobench.submissions.completeness import spec_label
from mobench.submissions.form import Bundle
from mobench.submissions.text import shown

CHEAP_SECONDS = 120.0
"""Runs that say they took longer are not repeated."""
PATIENCE_SECONDS = 1200.0
"""A repeated run that takes longer than this is stopped."""


@dataclass(frozen=True)
class Rerun:
    """What came of repeating runs."""

    possible: int = 0
    """How many runs could have been drawn."""
    exact: int = 0
    """How many were repeated to the last bit."""
    close: int = 0
    """How many agree within the tolerance, on another setup."""
    findings: tuple[str, ...] = ()
    obstacles: tuple[str, ...] = field(default=())
    """Why runs could not be repeated."""


def rerun(bundle: Bundle, *, sample: int, seed: int, files: Mapping[str, Path], jobs: int = 1) -> Rerun:
    """Repeat `sample` of the bundle's cheap runs, drawn with `seed`.

    Only for a bundle without findings: then every run is one of this mobench's own suites and has their size.
    """
    runnable, plugins, obstacles = _runnable(bundle, files)
    candidates = [record for record in bundle.records if record.spec.method in runnable]
    cheap = [record for record in candidates if record.outcome.timings["seconds"] <= CHEAP_SECONDS]
    if len(cheap) < len(candidates):
        obstacles.append(f"{len(candidates) - len(cheap)} runs took longer than {CHEAP_SECONDS:g} s")
    ready = _prepared(cheap, obstacles)
    drawn = draw(ready, sample, seed)
    if not drawn:
        return Rerun(possible=len(ready), obstacles=tuple(obstacles))
    repeated = _repeat(drawn, plugins, jobs)
    exact, close = 0, 0
    findings: list[str] = []
    for record in sorted(drawn, key=lambda record: record.id):
        again = repeated.get(record.id)
        same = again is not None and same_setup(record.environment, again.environment)
        found = ["it was not repeated"] if again is None else differences(record, again, exact=same)
        findings += [f"re-run of {spec_label(record.spec)}: {text}" for text in found]
        exact += not found and same
        close += not found and not same
    return Rerun(len(ready), exact, close, tuple(findings), tuple(obstacles))


def draw(records: Sequence[RunRecord], sample: int, seed: int) -> list[RunRecord]:
    """Return `sample` of the records, or all if there are fewer; the same ones for the same seed."""
    return random.Random(seed).sample(records, min(sample, len(records)))


def _runnable(bundle: Bundle, files: Mapping[str, Path]) -> tuple[set[str], list[str], list[str]]:
    """Return the methods that can be run here, the plugin files they need, and why others cannot."""
    runnable, plugins, obstacles = set(), [], []
    for method in bundle.methods:
        if method.source is None:
            runnable.add(method.label)
            continue
        if method.source not in files:
            obstacles.append(f"the file of {method.name} is not given: plugins=FILE, sha256 {method.source[:12]}…")
            continue
        try:
            load_plugins([files[method.source]])
        except UserError as error:
            obstacles.append(shown(error, 300))
            continue
        kind = methods().get(method.name)
        if kind is None or kind.version != method.version or source_digest(kind) != method.source:
            obstacles.append(f"the given file does not define {method.label}")
            continue
        runnable.add(method.label)
        plugins.append(str(files[method.source]))
    return runnable, plugins, obstacles


def _prepared(records: Sequence[RunRecord], obstacles: list[str]) -> list[RunRecord]:
    """Keep the runs whose problem has its data here."""
    reasons: dict[str, str] = {}
    ready = []
    for record in records:
        settings = str(sorted(record.spec.problem_settings.items()))
        key = f"{record.spec.problem} {settings}"
        if key not in reasons:
            try:
                record.spec.build_problem().prepare()
                reasons[key] = ""
            except UserError as error:
                reasons[key] = f"{record.spec.problem}: {error}"
        if not reasons[key]:
            ready.append(record)
    obstacles += sorted({reason for reason in reasons.values() if reason})
    return ready


def _repeat(records: Sequence[RunRecord], plugins: Sequence[str], jobs: int) -> dict[str, RunRecord]:
    """Train the runs anew, through the usual executor, and return the new records by id."""
    with tempfile.TemporaryDirectory(prefix="mobench-verify-") as folder:
        store = Store(Path(folder))
        groups = make_groups([record.spec for record in records])
        execute(groups, store, jobs=jobs, time_limit=PATIENCE_SECONDS, plugins=plugins)
        return {record.id: record for record in store.records()}
