"""The battery: every check of methods, and every check of problems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mobench.conformance import measured, required
from mobench.conformance.finding import Check, Finding, declared_settings, examine
from mobench.conformance.front import front, front_in_box, hypervolume_bounds, identity
from mobench.conformance.landscape import LANDSCAPE_REQUIRED, seeds_differ
from mobench.conformance.subject import subject
from mobench.core.method import Method
from mobench.core.problem import Problem

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

    Settings the method refuses raise `UserError`; everything else the method does ends up as a finding.
    """
    return examine(subject(method, settings or {}), required.REQUIRED, measured.MEASURED)


def check_problem(problem: type[Problem], settings: Mapping[str, Any] | None = None) -> list[Finding]:
    """Examine `problem` with `settings`: first what is required of every problem, then what describes it.

    Settings the problem refuses raise `UserError`; everything else it does ends up as a finding.
    """
    return examine(problem(**(settings or {})), PROBLEM_REQUIRED, PROBLEM_MEASURED)
