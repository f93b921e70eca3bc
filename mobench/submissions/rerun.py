"""Repeat a random sample of the cheap runs in a clean store, and compare.

On the CPU, and on the setup of the record, a repeated run is the same to the last bit; so it is on a GPU with
deterministic algorithms. Elsewhere it agrees within a tolerance, on a GPU also within the spread of its seeds.
Code inside a bundle is never run. A plugin runs only if the user gives its file and the file's hash is
the one in the bundle.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import stdev

from mobench.core.columns import AMONG_METRICS, AT_THE_END
from mobench.core.metric import Metric
from mobench.core.outcome import Outcome
from mobench.core.registry import load_plugins, methods, source_digest
from mobench.errors import UserError
from mobench.planning.plan import make_groups
from mobench.running.executor import execute
from mobench.store.folder import Store
from mobench.store.record import Environment, RunRecord
from mobench.store.validation import shown
from mobench.submissions.bundle import Bundle
from mobench.submissions.collecting import thinned
from mobench.submissions.completeness import spec_label
from mobench.submissions.plausibility import declared

CHEAP_SECONDS = 120.0
"""Runs that say they took longer are not repeated."""
PATIENCE_SECONDS = 1200.0
"""A repeated run that takes longer than this is stopped."""
RELATIVE = 0.01
ABSOLUTE = 1e-6
"""On another setup two numbers agree if |a − b| ≤ 1e-6 + 0.01 · max(|a|, |b|)."""
POINTS = 3.0
"""Percentages agree within so many points instead of 1e-6: rounding grows while a network trains."""
DEVIATIONS = 3.0
FEWEST_SEEDS = 3
"""Numbers of a run on a GPU also agree within so many standard deviations over its seeds, of which it takes three."""
WAYS = ("deterministic", "channels_last")
"""How a device computed; an earlier record does not say."""
LISTED = 3


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
    obstacles: tuple[str, ...] = ()
    """Why runs could not be repeated."""


def rerun(bundle: Bundle, *, sample: int, seed: int, files: Mapping[str, Path], jobs: int = 1) -> Rerun:
    """Repeat `sample` of the bundle's cheap runs, drawn with `seed`.

    Only for a bundle without findings: then every run is one of this mobench's own suites and has their size.
    """
    runnable, plugins, obstacles = _runnable(bundle, files)
    candidates = [record for record in bundle.records if record.spec.method in runnable]
    cheap = [record for record in candidates if (record.outcome.timings["seconds"] or 0.0) <= CHEAP_SECONDS]
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
        metrics = declared(record.spec.build_problem())
        spread = seed_spread(bundle.records, record)
        found = ["it was not repeated"] if again is None else differences(record, again, metrics, spread, exact=same)
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


def same_setup(one: Environment, other: Environment) -> bool:
    """Say whether two runs must agree to the last bit: same versions, same processor, same device, same arithmetic.

    On a GPU they must only if both used deterministic algorithms alone: others add in an order that changes.
    """
    repeatable = not on_gpu(one) or all(found.hardware.get("deterministic") for found in (one, other))
    keys = ("cpu", "device", *(key for key in WAYS if key in one.hardware and key in other.hardware))
    alike = all(one.hardware.get(key) == other.hardware.get(key) for key in keys)
    return repeatable and alike and one.versions == other.versions


def on_gpu(environment: Environment) -> bool:
    """Say whether a run was computed on a GPU."""
    return str(environment.hardware.get("device", "cpu")).startswith("cuda")


def seed_spread(records: Iterable[RunRecord], record: RunRecord) -> dict[str, float]:
    """Return the standard deviation over seeds of the metrics of a run's configuration, if it was run on a GPU.

    There a repeated run comes from the same distribution: it may differ like another seed. At least three are needed.
    """
    if not on_gpu(record.environment):
        return {}
    kin = [
        other.outcome.metrics
        for other in records
        if other.outcome.status == "done" and other.spec.configuration == record.spec.configuration
    ]
    names = set.intersection(*(set(metrics) for metrics in kin)) if len(kin) >= FEWEST_SEEDS else set()
    return {name: stdev(metrics[name] for metrics in kin) for name in names}


def differences(
    recorded: RunRecord,
    repeated: RunRecord,
    metrics: Mapping[str, Metric],
    spread: Mapping[str, float] | None = None,
    *,
    exact: bool,
) -> list[str]:
    """Return in what a repeated run differs; times and memory are not compared.

    Curves are compared on the same setup only: elsewhere a path may part early and still end alike. So are gradients
    at the end, which are those of one batch.
    """
    first, second = thinned(recorded).outcome, thinned(repeated).outcome
    if first.status != second.status:
        reason = f": {second.error}" if second.error else ""
        return [f"recorded as {first.status}, repeated as {second.status}{reason}"]
    absolute = {name: POINTS for name, metric in metrics.items() if metric.unit == "%"}
    for name, deviation in (spread or {}).items():
        absolute[name] = max(absolute.get(name, ABSOLUTE), DEVIATIONS * deviation)
    left_out = frozenset() if exact else {metric.name for metric in AT_THE_END}
    numbers = [
        {name: value for name, value in part.items() if name not in left_out}
        for part in (first.metrics, _known_to(first, second))
    ]
    found = list(_compared(numbers[0], numbers[1], absolute, exact))
    for kind in ("mean", "total"):
        one, other = (
            {f"diagnostic {name} ({kind})": values[kind] for name, values in outcome.diagnostics.items()}
            for outcome in (first, second)
        )
        found += _compared(one, other, {}, exact)
    if exact and first.backward_passes != second.backward_passes:
        found.append(f"{first.backward_passes} backward passes recorded, {second.backward_passes} repeated")
    if exact and first.history != second.history:
        found.append("the curves differ")
    more = [f"and {len(found) - LISTED} more differences"] if len(found) > LISTED else []
    return found[:LISTED] + more


def _known_to(first: Outcome, second: Outcome) -> dict[str, float]:
    """Return the metrics of a repeated run, without those of the engine that an earlier record does not have."""
    return {name: value for name, value in second.metrics.items() if name in first.metrics or name not in AMONG_METRICS}


def _compared(
    recorded: Mapping[str, float | None],
    repeated: Mapping[str, float | None],
    absolute: Mapping[str, float],
    exact: bool,
) -> Iterator[str]:
    for name in sorted({*recorded, *repeated}):
        if name not in recorded or name not in repeated:
            yield f"{name} is {'recorded' if name in recorded else 'repeated'} alone"
        elif not _agree(recorded[name], repeated[name], absolute.get(name, ABSOLUTE), exact):
            yield f"{name} recorded as {recorded[name]!r}, repeated as {repeated[name]!r}"


def _agree(one: float | None, other: float | None, absolute: float, exact: bool) -> bool:
    if one is None or other is None or exact:
        return one == other
    return abs(one - other) <= absolute + RELATIVE * max(abs(one), abs(other))
