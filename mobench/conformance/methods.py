"""The battery for methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mobench.conformance.finding import Finding, examine
from mobench.conformance.measured import MEASURED
from mobench.conformance.required import REQUIRED
from mobench.conformance.subject import subject
from mobench.core.method import Method


def check_method(method: type[Method], settings: Mapping[str, Any] | None = None) -> list[Finding]:
    """Examine `method` with `settings`: first what is required of every method, then what describes it.

    Settings the method refuses raise `UserError`; everything else the method does ends up as a finding.
    """
    return examine(subject(method, settings or {}), REQUIRED, MEASURED)
