"""Claims of a suite: what is said to hold of its runs, what was measured, and whether it holds.

A claim reads `measured relation bound`, both sides formulas of a run's columns. It holds if it does so for every
run that is meant, or with `each: step` for every step of these runs that their curves keep together with the next one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mobench.planning.expression import Expression
from mobench.planning.suite_parts import STEP_COLUMNS, ClaimEntry
from mobench.scoring.query import Query, has_column
from mobench.store.record import RunRecord

Records = Callable[[], Iterable[RunRecord]]
_HOLDS: dict[str, Callable[[Any, Any, float], Any]] = {
    "<=": lambda measured, bound, tolerance: measured <= bound + tolerance,
    ">=": lambda measured, bound, tolerance: measured >= bound - tolerance,
    "==": lambda measured, bound, tolerance: np.abs(measured - bound) <= tolerance,
    "<": lambda measured, bound, tolerance: operator.lt(measured, bound),
    ">": lambda measured, bound, tolerance: operator.gt(measured, bound),
}


@dataclass(frozen=True)
class ClaimResult:
    """One claim, and what these results say to it."""

    claim: str
    source: str
    """Where it is stated."""
    relation: str
    measured: tuple[float, float] | None
    """The smallest and the largest measured value; None where the results hold no such run."""
    bound: tuple[float, float] | None
    """The smallest and the largest value of the other side."""
    tolerance: float
    cases: int
    """How many runs or steps were looked at."""
    each: str
    """Whether these are runs or steps."""
    violated: int
    """For how many it does not hold, those without a number among them."""
    note: str

    @property
    def holds(self) -> bool | None:
        """Whether it holds for all of them; None where there is none."""
        return None if not self.cases else self.violated == 0


def judge(claims: Iterable[ClaimEntry], query: Query, records: Records) -> list[ClaimResult]:
    """Return what the results say to every claim."""
    return [_judged(claim, query, records) for claim in claims]


def _judged(claim: ClaimEntry, query: Query, records: Records) -> ClaimResult:
    measured, bound = Expression(claim.measured), Expression(str(claim.bound))
    read = {*measured.columns, *bound.columns}
    each_step = claim.each == "step"
    table = query.table
    rows = query.select(claim.where, None if each_step else read) if len(table) else table
    if each_step:
        rows = table = _steps(rows, records)
    columns: dict[str, list[Any]] = {}
    for name in read:
        there = len(rows) and (name in rows or (name not in STEP_COLUMNS and has_column(table, name)))
        columns[name] = rows[name].tolist() if there else [None] * len(rows)
    left, right = (np.broadcast_to(side.of(columns), len(rows)) for side in (measured, bound))
    with np.errstate(invalid="ignore"):
        kept = _HOLDS[claim.relation](left, right, claim.tolerance)
    return ClaimResult(
        claim=claim.claim,
        source=claim.source,
        relation=claim.relation,
        measured=_range(left),
        bound=_range(right),
        tolerance=claim.tolerance,
        cases=len(rows),
        each=claim.each,
        violated=int(np.count_nonzero(~np.asarray(kept, dtype=bool))),
        note=claim.note,
    )


def _range(values: Any) -> tuple[float, float] | None:
    finite = values[~np.isnan(values)]
    return (float(finite.min()), float(finite.max())) if len(finite) else None


def _steps(runs: pd.DataFrame, records: Records) -> pd.DataFrame:
    """Return a row for each kept step that is followed by a kept one, with the columns of its run."""
    places: dict[str, Mapping[Any, Any]] = {str(run["id"]): run for run in runs.to_dict("records")}
    found = [row for record in records() if record.id in places for row in _rows(places[record.id], record)]
    return pd.DataFrame(found)


def _rows(run: Mapping[Any, Any], record: RunRecord) -> Iterator[dict[Any, Any]]:
    history = record.outcome.history
    steps, losses = history.get("step", []), history.get("losses", [])
    for place, number in enumerate(steps[:-1]):
        if losses[place] is None or losses[place + 1] is None or steps[place + 1] != number + 1:
            continue
        curves = {name: history[name][place] if name in history else None for name in _OF_A_STEP}
        of_step = {f"step.{name}": value for name, value in curves.items()}
        yield {**run, **of_step, "step.number": number, "step.next_losses": losses[place + 1]}


_OF_A_STEP = [name.removeprefix("step.") for name in STEP_COLUMNS if name not in ("step.number", "step.next_losses")]
