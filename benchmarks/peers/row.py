"""One figure of the comparison, and how intervals of figures are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median, quantiles
from time import perf_counter
from typing import Any, Literal


@dataclass(frozen=True)
class Asked:
    """What a figure is held to."""

    sense: Literal["≤", "≥"]
    value: float

    def met(self, measured: float) -> bool:
        return measured <= self.value if self.sense == "≤" else measured >= self.value


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    part: str
    what: str
    measured: float
    unit: str
    command: str
    """What prints this row again."""
    asked: Asked | None = None
    low: float | None = None
    high: float | None = None
    """Quartiles of the paired ratios, where `measured` is their median; None for exact figures."""

    @property
    def met(self) -> bool | None:
        """Whether the figure is as asked, None where nothing is asked."""
        return None if self.asked is None else self.asked.met(self.measured)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "met": self.met}


@dataclass(frozen=True)
class Ratio:
    """The median of paired ratios and their quartiles."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, above: Sequence[float], below: Sequence[float]) -> Ratio:
        """Divide pair by pair: what slows the machine for a while hits both sides of a pair."""
        ratios = [a / b for a, b in zip(above, below, strict=True)]
        if len(ratios) == 1:
            return cls(ratios[0], ratios[0], ratios[0])
        low, _, high = quantiles(ratios, n=4, method="inclusive")
        return cls(median(ratios), low, high)

    def row(self, part: str, what: str, command: str, asked: Asked | None = None) -> Row:
        return Row(part, what, self.median, "×", command, asked, self.low, self.high)


def interleaved(
    calls: Mapping[str, Callable[[], object]], rounds: int, clock: Callable[[], float] = perf_counter
) -> dict[str, list[float]]:
    """Return the seconds of every call in every round, after one round that is not counted.

    The order turns around from round to round, so that nobody always follows the same neighbour.
    """
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    order = list(calls)
    for number in range(rounds + 1):
        for name in order if number % 2 else reversed(order):
            started = clock()
            calls[name]()
            if number:
                seconds[name].append(clock() - started)
    return seconds
