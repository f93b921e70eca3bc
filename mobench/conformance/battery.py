"""The battery: every check of methods, and every check of problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mobench.conformance import measured, required
from mobench.conformance.finding import Check, Finding, declared_settings, examine
from mobench.conformance.front import front, front_in_box, hypervolume_bounds, identity
from mobench.conformance.landscape import LANDSCAPE_REQUIRED, seeds_differ
from mobench.conformance.subject import Subject, subject
from mobench.core.method import Method
from mobench.core.problem import Problem
from mobench.core.threads import one_thread

PROBLEM_REQUIRED: dict[str, Check[Problem]] = {
    "id": identity,
    "settings": declared_settings,
    **LANDSCAPE_REQUIRED,
    "hypervolume bounds": hypervolume_bounds,
    "front": front,
}
PROBLEM_MEASURED: dict[str, Check[Problem]] = {"seeds differ": seeds_differ, "front in the box": front_in_box}


def check_method(method: type[Method], settings: Mapping[str, Any] | None = None) -> list[Finding]:
    """Examine `method` with `settings`: first what is required of every method, then what describes it.

    The findings are those with gradients in float64; a property that holds there is examined in float32 as well, and
    where it does not hold in that precision, that is the finding.

    Settings the method refuses raise `UserError`; everything else the method does ends up as a finding. A required
    property that the method declares to lack does not count against it; one that it declares to lack and has, does.
    """
    with one_thread():
        examined = subject(method, settings or {})
        findings = examine(examined, required.REQUIRED, measured.MEASURED)
        findings = [_also_in_single(examined, finding) if finding.holds else finding for finding in findings]
    declared = [replace(finding, lacking=method.lacks.get(finding.name, "")) for finding in findings]
    return [_declarations(method, declared, at_defaults=not settings), *declared]


def _also_in_single(examined: Subject, finding: Finding) -> Finding:
    """Return the finding, or that in float32 where the property does not hold in it."""
    check = {**required.REQUIRED, **measured.MEASURED}[finding.name]
    (single,) = examine(replace(examined, precision=np.float32), {finding.name: check}, {})
    if single.holds is not False:
        return finding
    return replace(single, required=finding.required, sentence=f"in float32, not in float64: {single.sentence}")


def _declarations(method: type[Method], findings: Sequence[Finding], at_defaults: bool) -> Finding:
    """Compare what the method says that it lacks with what was found, both ways.

    Declarations are about the defaults: with other settings a property may hold after all.
    """
    name, holds, value = "declarations", True, ", ".join(method.lacks) or "nothing"
    sentence = f"declares that it lacks {value}"
    found = {finding.name: finding for finding in findings}
    if strangers := sorted(method.lacks.keys() - found):
        holds, sentence = False, f"declares that it lacks {', '.join(strangers)}; there is no such property"
    elif at_defaults and (wrong := [each for each in method.lacks if found[each].holds]):
        holds, sentence = False, f"declares that it lacks {', '.join(wrong)}, which holds"
    return Finding(holds, value, sentence, name, required=True)


def check_problem(problem: type[Problem], settings: Mapping[str, Any] | None = None) -> list[Finding]:
    """Examine `problem` with `settings`: first what is required of every problem, then what describes it.

    Settings the problem refuses raise `UserError`; everything else it does ends up as a finding.
    """
    return examine(problem(**(settings or {})), PROBLEM_REQUIRED, PROBLEM_MEASURED)
