"""What a step of each method costs beside one of the weighted sum, in every suite that has both."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from mobench.reporting.format import number
from mobench.scoring.results import SuiteResults
from mobench.scoring.tables import number_of

from .documents import PAGES
from .old_tables import PlainCell, SuiteView
from .pages import Pages

PAGE = "speed/index.html"
BASE = "ws"
"""The method that costs are compared with: it needs one backward pass, of the weighted loss."""
NOTES = (
    "Medians over runs and configurations, measured where the runs ran: compare within a column only.",
    "Runs of synthetic problems step in lockstep and share what they do together: methods differ there by what happens "
    "inside of them; in training of networks a method also pays for its backward passes.",
    "Own time is spent inside the method, the median over the suites. Sorted by the median of a method's ratios.",
)


def method_costs(views: Sequence[SuiteView]) -> dict[str, Any] | None:
    """Return the table for the page of speed, None where no suite has the weighted sum and another method."""
    ratios: dict[str, dict[str, float]] = {}
    own: dict[str, list[float]] = {}
    columns: list[str] = []
    said: dict[str, list[str]] = {}
    for view in views:
        whole = _medians(view.results, "seconds_per_step")
        base = whole.get(BASE, 0.0)
        if base <= 0.0 or len(whole) < 2:
            continue
        column = f"{view.results.suite.name} ({view.results.profile})"
        columns.append(column)
        if view.reference is not None and view.reference.notes:
            said.setdefault(view.reference.notes, []).append(column)
        for method, seconds in whole.items():
            ratios.setdefault(method, {})[column] = seconds / base
        for method, seconds in _medians(view.results, "method_seconds_per_step").items():
            own.setdefault(method, []).append(seconds)
    if not columns:
        return None
    middle = {method: median(found.values()) for method, found in ratios.items()}
    rows = [
        [
            PlainCell(method),
            _cell(middle[method]),
            _cell(1e6 * median(own[method]) if method in own else math.nan),
            *(_cell(ratios[method].get(column, math.nan)) for column in columns),
        ]
        for method in sorted(ratios, key=lambda method: (middle[method], method))
    ]
    notes = [*NOTES, *(f"{', '.join(named)}: {words}" for words, named in said.items())]
    return {"header": ["method", f"× {BASE}, median", "own µs/step", *columns], "rows": rows, "notes": notes}


def costs_page(pages: Pages, costs: Mapping[str, Any]) -> str:
    """Return the page of speed with this table."""
    return pages.render("speed.html", PAGE, "Speed", costs=costs, about=PAGES["performance.md"])


def _medians(results: SuiteResults, column: str) -> dict[str, float]:
    """Return the median over the contenders of each method."""
    found: dict[str, list[float]] = {}
    for row in results.headline.only([column]).rows:
        value = number_of(row.cells[0])
        if value > 0.0:  # a method that never took a step has none
            found.setdefault(results.methods[row.label], []).append(value)
    return {method: median(values) for method, values in found.items()}


def _cell(value: float) -> PlainCell:
    return PlainCell("–", "") if math.isnan(value) else PlainCell(number(value), repr(value))
