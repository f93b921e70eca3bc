"""What of a record goes into a bundle: all that the leaderboard shows, and no more.

Metrics, diagnostics and costs are kept to the last bit. Curves are most of a record's size: of them
stay the step, ‖∇L₁‖ and the point in the plane, which are drawn and never scored, with six digits.
Of a traceback stays its last line: the rest names the submitter's folders.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mobench.store.record import Outcome, RunRecord
from mobench.submissions import limits
from mobench.submissions.text import plain

DIGITS = 6
CURVES = ("gradient_norms", "point")


def thinned(record: RunRecord) -> RunRecord:
    """Return the record as a bundle keeps it; thinning twice changes nothing."""
    outcome = record.outcome
    error = None if outcome.error is None else plain(outcome.reason, limits.TEXT // 2) or "no reason was given"
    return replace(record, outcome=replace(outcome, history=thinned_history(outcome), error=error, artifact={}))


def thinned_history(outcome: Outcome) -> dict[str, list[Any]]:
    """Return the sampled steps at which a kept curve has a value."""
    history: Mapping[str, list[Any]] = outcome.history
    kept = {name: history[name] for name in CURVES if name in history}
    if "step" not in history or not kept:
        return {}
    rows = [row for row in range(len(history["step"])) if any(column[row] is not None for column in kept.values())]
    curves = {"step": [history["step"][row] for row in rows]}
    for name, column in kept.items():
        curves[name] = [_short(column[row], 1 if name == "gradient_norms" else None) for row in rows]
    return curves if rows else {}


def _short(values: list[float | None] | None, count: int | None) -> list[float | None] | None:
    if values is None:
        return None
    return [None if value is None else float(f"{value:.{DIGITS}g}") for value in values[:count]]
