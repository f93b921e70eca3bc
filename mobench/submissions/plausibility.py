"""Numbers that cannot be: an accuracy of 101 %, a loss below its lower bound, fewer steps than the budget."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from mobench.core.columns import AMONG_METRICS, DELTA, MEASURED
from mobench.core.metric import Metric
from mobench.core.problem import Problem
from mobench.errors import UserError
from mobench.store.record import RunRecord
from mobench.submissions.bundle import Bundle
from mobench.submissions.completeness import listing, problem_label, spec_label
from mobench.submissions.expected_runs import cell_of, requirements
from mobench.training.optimizer import Training

SLACK = 1e-9
"""Rounding below a lower bound, relative to it."""


def declared(problem: Problem) -> dict[str, Metric]:
    """Return the metrics that a record of a problem may hold, by name."""
    own = (metric for metric in MEASURED if metric.name in AMONG_METRICS)
    return {metric.name: metric for metric in (*own, *problem.metrics())}


def implausible(bundle: Bundle) -> list[str]:
    """Return a sentence for every kind of number that cannot be right."""
    problems = _problems(bundle)
    metrics = {id(problem): declared(problem) for problem in problems.values()}
    named: dict[tuple[str, str], list[str]] = defaultdict(list)
    for record in bundle.records:
        problem = problems.get(cell_of(record.spec))
        if problem is None:
            continue  # the finding on completeness says so
        for name, reason in (*out_of_range(record, metrics[id(problem)]), *_against_problem(record, problem)):
            named[name, reason].append(spec_label(record.spec))
    found = [f"{name}: {reason}, in {listing(labels)}" for (name, reason), labels in named.items()]
    return found + _uneven(bundle) + _metrics_missing(bundle)


def out_of_range(record: RunRecord, metrics: Mapping[str, Metric]) -> Iterator[tuple[str, str]]:
    """Yield the metrics of a run that lie outside the range which the problem declares, and the reason."""
    for name, value in record.outcome.metrics.items():
        low, high = metrics[name].range if name in metrics else (value, value)
        if not low <= value <= high:
            yield name, f"a value outside [{low:g}, {high:g}]"


def _problems(bundle: Bundle) -> dict[bytes, Problem]:
    """Return the problem of every cell that the suites ask for. Only these are built: others may be of any size."""
    built: dict[bytes, Problem] = {}
    for part in bundle.suites:
        try:
            cells = requirements(part.suite, part.profile).cells
        except UserError:
            continue  # the finding on completeness says so
        built |= {cell: spec.build_problem() for cell, spec in cells.items()}
    return built


def _against_problem(record: RunRecord, problem: Problem) -> Iterator[tuple[str, str]]:
    metrics, seed = record.outcome.metrics, record.spec.seed
    for name, bound in zip(problem.objectives(), problem.lower_bounds(seed), strict=True):
        value = metrics.get(f"loss/{name}")
        if value is not None and value < bound - SLACK * max(1.0, abs(bound)):
            yield f"loss/{name}", "a value below the lower bound of this objective"
    if record.outcome.status == "done":
        read = (name for volume in problem.hypervolumes() for name in volume.metrics())
        for name in sorted({*problem.hypervolume_metrics(), *read}):
            if name not in metrics and name not in record.outcome.timings:
                yield name, "this metric of the problem is missing"
        budget = Training(**record.spec.run_training).total_steps(problem.steps_per_epoch())
        if record.outcome.timings.get("steps") != budget:
            yield "steps", f"a finished run that did not take its {budget} steps"


def _uneven(bundle: Bundle) -> list[str]:
    """All finished runs of a problem instance have the same metrics, but for those that not every record has."""
    names: dict[str, set[frozenset[str]]] = defaultdict(set)
    for record in bundle.records:
        if record.outcome.status == "done":
            names[problem_label(record.spec)].add(frozenset(record.outcome.metrics) - AMONG_METRICS)
    found = []
    for problem, kinds in names.items():
        if len(kinds) > 1:
            odd = sorted(frozenset.union(*kinds) - frozenset.intersection(*kinds))
            found.append(f"{problem}: metrics that only some of its finished runs have: {listing(odd)}")
    return found


def _metrics_missing(bundle: Bundle) -> list[str]:
    """The metrics that a suite is about are in every finished run."""
    found = []
    records = {record.id: record for record in bundle.records}
    for part in bundle.suites:
        try:
            headline = requirements(part.suite, part.profile).suite.metrics
        except UserError:
            continue
        for name in headline:
            if name.startswith(("diagnostic/", "total/")) or name == DELTA.name:
                continue  # what a method notes about itself, which others lack; what is derived when a table is made
            lacking = [
                spec_label(records[id_].spec)
                for id_ in part.runs
                if records[id_].outcome.status == "done" and name not in records[id_].outcome.metrics
            ]
            if lacking:
                found.append(f"{part.label}: the suite's metric {name} is missing in {listing(lacking)}")
    return found
