"""Is everything there that the suite asks for, and nothing else? Chosen seeds or dropped failures show here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mobench.core.spec import RunSpec
from mobench.errors import UserError
from mobench.store.validation import shown
from mobench.submissions.bundle import Bundle, SubmittedMethod, SubmittedSuite
from mobench.submissions.expected_runs import (
    Requirements,
    cell_of,
    definition,
    expected_runs,
    requirements,
    sorted_sweep,
)

LISTED = 5
"""How many missing or surplus runs a finding spells out."""


def incomplete(bundle: Bundle) -> list[str]:
    """Return a sentence for everything that is missing from, or too much in, a bundle."""
    specs = {record.id: record.spec for record in bundle.records}
    names = {method.name for method in bundle.methods}
    findings = []
    for part in bundle.suites:
        try:
            wanted = requirements(part.suite, part.profile)
        except UserError as error:
            findings.append(f"{part.label}: {error}")
            continue
        own = definition(wanted.suite)
        changed = sorted(key for key in {*own, *part.definition} if own.get(key) != part.definition.get(key))
        if changed:
            keys = ", ".join(map(shown, changed[:LISTED]))
            findings.append(f"{part.label}: not this mobench's definition of the suite; different: {keys}")
        found = {id_: specs[id_] for id_ in part.runs}
        expected = expected_runs(bundle, part)
        for method in bundle.methods:
            findings += _sweep_findings(part, wanted, method)
        unlisted = sorted(set(part.sweeps) - names)
        findings += [f"{part.label}: a sweep of {name}, which is not submitted" for name in unlisted]
        missing = [spec for id_, spec in expected.items() if id_ not in found]
        if missing:
            findings.append(
                f"{part.label}: {len(missing)} of {len(expected)} runs are missing: {listing(map(spec_label, missing))}"
            )
        surplus = [spec for id_, spec in found.items() if id_ not in expected]
        if surplus:
            reasons = [f"{spec_label(spec)} ({_surplus_reason(spec, part, wanted)})" for spec in surplus[:LISTED]]
            text = listing(reasons, len(surplus))
            findings.append(f"{part.label}: {len(surplus)} runs do not belong to the suite: {text}")
    unused = sorted(names - {name for part in bundle.suites for name in part.sweeps})
    return findings + [f"{name}: submitted, but with no sweep on any suite" for name in unused]


def _sweep_findings(part: SubmittedSuite, wanted: Requirements, method: SubmittedMethod) -> list[str]:
    """A method that the suite lists is run as listed."""
    published = wanted.sweep_of(method)
    if method.name not in part.sweeps or published is None or sorted_sweep(part.sweeps[method.name]) == published:
        return []
    return [
        f"{part.label}: the sweep of {method.name} has {len(part.sweeps[method.name])} configurations and is not "
        f"the suite's own with {len(published)}; another sweep is another method, with a name of its own"
    ]


def _surplus_reason(spec: RunSpec, part: SubmittedSuite, wanted: Requirements) -> str:
    """Say in what a run differs from all runs that the suite asks for."""
    if spec.method.partition("@")[0] not in part.sweeps:
        return "the method has no declared sweep here"
    same_problem = [
        cell
        for cell in wanted.cells.values()
        if (cell.problem, cell.problem_settings) == (spec.problem, spec.problem_settings)
    ]
    if not same_problem:
        return "not a problem instance of the suite"
    training = same_problem[0].training
    different = sorted(key for key in {*training, *spec.training} if training.get(key) != spec.training.get(key))
    if different:
        return "other training: " + ", ".join(different[:LISTED])
    if spec.seed not in wanted.suite.seeds:
        return "extra seed"
    if cell_of(spec) not in wanted.cells:
        return "other spelling of a number"
    return "not in the declared sweep"


def spec_label(spec: RunSpec) -> str:
    """Name a run for people: method, problem, seed."""
    return f"{spec.method.partition('@')[0]}{_settings(spec.method_settings)} on {problem_label(spec)} seed {spec.seed}"


def problem_label(spec: RunSpec) -> str:
    """Name a problem instance for people."""
    return f"{spec.problem}{_settings(spec.problem_settings)}"


def listing(labels: Iterable[str], total: int | None = None) -> str:
    """Spell out the first few of many; `total` says how many there are where not all labels are given."""
    every = list(labels)
    count = len(every) if total is None else total
    more = f"; and {count - LISTED} more" if count > LISTED else ""
    return "; ".join(every[:LISTED]) + more


def _settings(settings: Mapping[str, Any]) -> str:
    inside = ", ".join(f"{key}={shown(value, 24)}" for key, value in list(settings.items())[:8])
    return f"({inside})" if inside else ""
