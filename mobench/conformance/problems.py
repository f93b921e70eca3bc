"""The battery for problems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mobench.conformance.declared import declared_settings
from mobench.conformance.finding import Check, Finding, examine
from mobench.conformance.front import front, front_in_box, hypervolume_bounds, identity
from mobench.conformance.landscape import LANDSCAPE_REQUIRED, seeds_differ
from mobench.core.problem import Problem

REQUIRED: dict[str, Check[Problem]] = {
    "id": identity,
    "settings": declared_settings,
    **LANDSCAPE_REQUIRED,
    "hypervolume bounds": hypervolume_bounds,
    "front": front,
}
MEASURED: dict[str, Check[Problem]] = {"seeds differ": seeds_differ, "front in the box": front_in_box}


def check_problem(problem: type[Problem], settings: Mapping[str, Any] | None = None) -> list[Finding]:
    """Examine `problem` with `settings`: first what is required of every problem, then what describes it.

    Settings the problem refuses raise `UserError`; everything else it does ends up as a finding.
    """
    return examine(problem(**(settings or {})), REQUIRED, MEASURED)
