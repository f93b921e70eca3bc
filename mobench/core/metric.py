"""What a metric is: said once, by the problem that measures it, and read from there by everybody."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Direction = Literal["max", "min"]

NON_NEGATIVE = (0.0, math.inf)
SHARE = (0.0, 1.0)

_ARROWS: dict[Direction, str] = {"max": "→", "min": "←"}


@dataclass(frozen=True)
class Metric:
    """One number that is measured of a finished run."""

    name: str
    """Its column in the results, e.g. `accuracy@90`."""
    label: str
    """How tables and axes call it, e.g. `test accuracy, 90 % removed`."""
    unit: str = ""
    """What it is measured in, e.g. `%`; empty for a plain number."""
    better: Direction | None = None
    """Which way it is better; None where neither is, and then nothing is ranked or marked by it."""
    range: tuple[float, float] = (-math.inf, math.inf)
    """The smallest and the largest possible value."""
    meaning: str = ""
    """One sentence for the glossary."""
    data: Literal["", "training", "validation", "test"] = ""
    """The data it is measured on, where the problem has several kinds."""

    def allows(self, value: float) -> bool:
        """Say whether this can be measured: a finite number in the range."""
        return math.isfinite(value) and self.range[0] <= value <= self.range[1]

    @property
    def heading(self) -> str:
        """The label with its unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    @property
    def axis(self) -> str:
        """The heading with an arrow that points to the better end of the axis, whether it runs across or up."""
        return f"{self.heading} {_ARROWS[self.better]}" if self.better else self.heading
