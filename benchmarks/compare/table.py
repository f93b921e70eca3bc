"""The comparison as text, in the columns of `asv compare`, and as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import tabulate  # type: ignore[import-untyped]
from asv.util import human_value  # type: ignore[import-untyped]
from asv_runner.statistics import compute_stats, get_err  # type: ignore[import-untyped]

from benchmarks.compare.measure import Case
from benchmarks.compare.revisions import Revision
from benchmarks.compare.statistics import Rounds, Verdict

MARKS = {"slower": "+", "faster": "-", "same": "", "failed": "!", "fixed": "*", "broken": "x"}


def text(
    base: Revision,
    head: Revision,
    cases: Sequence[Case],
    measured: Mapping[str, Rounds],
    verdicts: Mapping[str, Verdict],
) -> str:
    """Return a table with a row for each benchmark, the worst ratio first."""
    rows = []
    for case in sorted(cases, key=lambda case: _rank(verdicts[case.name])):
        verdict, rounds = verdicts[case.name], measured[case.name]
        rows.append(
            [
                MARKS[verdict.change],
                _side(rounds.base, case.unit),
                _side(rounds.head, case.unit),
                "n/a" if math.isnan(verdict.ratio) else f"{verdict.ratio:.2f}",
                "" if math.isnan(verdict.p) else f"{verdict.p:.2g}",
                verdict.rounds,
                case.name,
            ]
        )
    headers = ["Change", f"Before [{base.commit[:8]}]", f"After [{head.commit[:8]}]", "Ratio", "p", "Rounds"]
    return str(
        tabulate.tabulate(rows, headers=[*headers, "Benchmark (Parameter)"], tablefmt="github", disable_numparse=True)
    )


def document(
    base: Revision,
    head: Revision,
    cases: Sequence[Case],
    measured: Mapping[str, Rounds],
    verdicts: Mapping[str, Verdict],
) -> dict[str, Any]:
    """Return everything that was measured, with its verdicts."""
    return {
        "base": base.commit,
        "head": head.commit,
        "benchmarks": [
            {"name": case.name, "unit": case.unit, **vars(measured[case.name]), **_plain(verdicts[case.name])}
            for case in cases
        ],
    }


def _plain(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict's fields with None for NaN, which strict JSON does not have."""
    return {
        key: None if isinstance(value, float) and math.isnan(value) else value for key, value in vars(verdict).items()
    }


def _rank(verdict: Verdict) -> tuple[bool, float]:
    return (not math.isnan(verdict.ratio), -verdict.ratio if not math.isnan(verdict.ratio) else 0.0)


def _side(values: Sequence[float | None], unit: str) -> str:
    """Return asv's median over the rounds with its error."""
    present = [value for value in values if value is not None]
    if len(present) < len(values) or not present:
        return "failed"
    middle, stats = compute_stats(present, 1)
    return str(human_value(middle, unit, err=get_err(middle, stats)))
