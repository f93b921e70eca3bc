"""Named hypervolumes: which operating points a finished run has, and the box in which their volume is taken.

A run of most problems ends at one point of objective space. A run of others can be used in several ways (a network
with 80 or with 95 % of it removed), and each way is a point. A problem says which metrics are the coordinates of
each point, and on which data points are compared before those that are reported are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Bounds:
    """The box in which a problem's hypervolume is taken; it belongs to the problem's version."""

    ideal: tuple[float, ...]
    reference: tuple[float, ...]


@dataclass(frozen=True)
class Axis:
    """One coordinate of operating points, from its ideal value to the one from which on a point is worth nothing."""

    label: str
    ideal: float
    """Where this is above the reference, larger values are better."""
    reference: float
    log: bool = False
    """Whether decades count, not differences."""
    relative_to: str = ""
    """The metric of the same run that values are divided by, e.g. `parameters`, those of the whole network."""

    @property
    def sign(self) -> float:
        """−1 where larger values are better: coordinates are minimised."""
        return 1.0 if self.ideal < self.reference else -1.0

    def minimised(self, value: float) -> float:
        """Return the coordinate of a value that is already divided by what it is relative to."""
        return self.sign * (math.log10(value) if self.log else value)


@dataclass(frozen=True)
class OperatingPoint:
    """One way to use what a finished run gave."""

    values: tuple[str, ...]
    """The metrics that are its coordinates, one for each axis; measured on test data where there is any."""
    select: tuple[str, ...] = ()
    """The same as measured on validation data; empty where the problem has none, and then no point is left out."""


@dataclass(frozen=True)
class Hypervolume:
    """One volume: points that are not dominated on validation data, measured on test data, in frozen bounds."""

    name: str
    label: str
    meaning: str
    axes: tuple[Axis, ...]
    points: tuple[OperatingPoint, ...]
    """What one run contributes."""

    @property
    def bounds(self) -> Bounds:
        """The box, in minimised coordinates."""
        ideal, reference = (
            [axis.minimised(getattr(axis, end)) for axis in self.axes] for end in ("ideal", "reference")
        )
        return Bounds(tuple(ideal), tuple(reference))

    def metrics(self) -> Iterator[str]:
        """Yield every metric that is read, each once."""
        over = (axis.relative_to for axis in self.axes if axis.relative_to)
        read = (name for point in self.points for name in (*point.values, *point.select))
        yield from dict.fromkeys((*read, *over))


FROZEN = "frozen"
"""The name of the volume of a problem that has one."""


def of_metrics(names: tuple[str, ...], bounds: Bounds) -> Hypervolume:
    """Return the volume of runs that end at one point, whose coordinates are minimised metrics."""
    ends = zip(names, bounds.ideal, bounds.reference, strict=True)
    axes = tuple(Axis(name, ideal, reference) for name, ideal, reference in ends)
    meaning = "hypervolume in the problem's frozen bounds, in [0, 1]"
    return Hypervolume(FROZEN, "hypervolume", meaning, axes, (OperatingPoint(names),))
