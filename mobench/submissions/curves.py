"""Which curves of a run a bundle keeps, and how much of each. Curves are most of a record's size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from mobench.core.plot import Take
from mobench.core.registry import plots
from mobench.planning.expression import Expression
from mobench.planning.suite import Suite
from mobench.planning.suite_parts import STEP_COLUMNS
from mobench.submissions import limits

DRAWN_DIGITS = 3
"""A thousandth is less than the width of a line."""
PLACE_DIGITS = 5
"""Of places in the plane, and of pictures, whose errors are drawn down to 1e-4."""


@dataclass(frozen=True)
class KeptCurve:
    """How much is kept of a curve."""

    take: Take
    """What of each sample; `last`: the last sample that has a value, as it is."""
    digits: Annotated[int, Field(ge=1, le=17)] | None
    """None: to the last bit."""

    def of(self, values: Any) -> Any:
        """Return what is kept of one sample; what is kept of that again is the same."""
        if values is None:
            return None
        if self.take == "first":
            values = values[:1]
        elif self.take == "least":
            seen = [value for value in values if value is not None]
            values = [min(seen)] if seen else []
        return self._short(values)

    def _short(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._short(part) for part in value]
        if value is None or not abs(value) <= limits.LARGEST:  # the last samples of a run that diverged
            return None
        return value if self.digits is None else float(f"{value:.{self.digits}g}")

    def joined(self, other: KeptCurve) -> KeptCurve:
        """Return what serves both."""
        digits = None if self.digits is None or other.digits is None else max(self.digits, other.digits)
        return KeptCurve(self.take if self.take == other.take else "all", digits)


CURVES: Mapping[str, KeptCurve] = {"gradient_norms": KeptCurve("first", 6), "point": KeptCurve("all", 6)}
"""What every bundle keeps of a submitted method."""


def drawn_curves(suite: Suite) -> dict[str, KeptCurve]:
    """Return the curves that the plots and claims of a suite read, for a bundle of all of its runs.

    A claim on every step is judged on the numbers as they were computed, so these keep all digits.
    """
    found: dict[str, KeptCurve] = {}
    for entry in suite.plots:
        name = str(entry if isinstance(entry, str) else entry["plot"])
        for curve, take in plots()[name].reads:
            digits = PLACE_DIGITS if curve in ("point", "picture") else DRAWN_DIGITS
            _join(found, curve, KeptCurve(take, digits))
    for claim in suite.claims:
        if claim.each == "step":
            read = {*Expression(claim.measured).columns, *Expression(str(claim.bound)).columns} & {*STEP_COLUMNS}
            for column in sorted({*read, "step.losses"} - {"step.number", "step.next_losses"}):
                _join(found, column.removeprefix("step."), KeptCurve("all", None))
    return dict(sorted(found.items()))


def _join(found: dict[str, KeptCurve], curve: str, kept: KeptCurve) -> None:
    found[curve] = found[curve].joined(kept) if curve in found else kept


def thinned_history(history: Mapping[str, list[Any]], curves: Mapping[str, KeptCurve]) -> dict[str, list[Any]]:
    """Return the sampled steps at which a kept curve has a value."""
    known = [name for name in curves if name in history and "step" in history]
    read = {name: _last(history[name]) if curves[name].take == "last" else history[name] for name in known}
    columns = {name: [curves[name].of(sample) for sample in column] for name, column in read.items()}
    rows = [row for row, values in enumerate(zip(*columns.values(), strict=True)) if set(map(type, values)) != {_NONE}]
    if not rows:
        return {}
    return {
        "step": [history["step"][row] for row in rows],
        **{name: [column[row] for row in rows] for name, column in columns.items()},
    }


_NONE = type(None)


def _last(column: list[Any]) -> list[Any]:
    """Return a column with its last value alone."""
    last = max((row for row, sample in enumerate(column) if sample is not None), default=-1)
    return [sample if row == last else None for row, sample in enumerate(column)]
