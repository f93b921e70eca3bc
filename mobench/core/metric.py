"""What a metric is: said once, by the problem that measures it, and read from there by everybody."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Direction = Literal["max", "min"]


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
    """The closed interval that every possible value lies in."""
    meaning: str = ""
    """One sentence for the glossary."""

    @property
    def axis(self) -> str:
        """The label with its unit, as an axis shows it."""
        return f"{self.label} ({self.unit})" if self.unit else self.label
