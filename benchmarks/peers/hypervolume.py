"""Hypervolume of a set of points: mobench's function, the C library beneath it, and a plain recursion.

mobench checks, normalises, clips and sorts the points before pymoo hands them to the library; the
first ratio is what that costs. The recursion slices the volume along the last objective; it is what
one writes without a library, and shares no code with it, so it also confirms the value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import numpy as np
import numpy.typing as npt
from moocore import hypervolume as library

from benchmarks.peers.row import Asked, Ratio, Row, interleaved
from mobench.scoring.indicators.hypervolume import hypervolume

PART = "hypervolume"
COMMAND = "make peers only=hypervolume"
Points = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    rounds: int
    points: int = 50
    ks: tuple[int, ...] = (2, 3, 4)


SIZES = {"quick": Size(5, 30), "default": Size(9), "all": Size(31)}


def front(k: int, count: int) -> Points:
    """Return points on a sphere's octant around (1, …, 1): none dominates another."""
    directions = np.abs(np.random.default_rng(k).standard_normal((count, k)))
    points: Points = 1.0 - directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return points


def rows(size: Size) -> Iterator[Row]:
    """Yield times of the others as multiples of mobench's, and the largest difference in value."""
    difference = 0.0
    for k in size.ks:
        points = front(k, size.points)
        zeros, ones = np.zeros(k), np.ones(k)
        seconds = interleaved(
            {
                "mobench": lambda points=points, zeros=zeros, ones=ones: hypervolume(points, zeros, ones),  # type: ignore[misc]
                "library": lambda points=points, ones=ones: library(points, ref=ones),  # type: ignore[misc]
                "recursion": lambda points=points, ones=ones: by_slices(points, ones),  # type: ignore[misc]
            },
            size.rounds,
        )
        own = f"K={k}, {size.points} points, {1e6 * median(seconds['mobench']):.0f} µs"
        yield Ratio.of(seconds["mobench"], seconds["library"]).row(PART, f"{own} / moocore", COMMAND)
        yield Ratio.of(seconds["recursion"], seconds["mobench"]).row(PART, f"plain recursion / {own}", COMMAND)
        exact = by_slices(points, ones)
        difference = max(difference, abs(hypervolume(points, zeros, ones) - exact) / exact)
    yield Row(PART, "largest relative difference to the recursion", difference, "", COMMAND, Asked("≤", 1e-12))


def by_slices(points: Points, reference: Points) -> float:
    """Return the volume between the points and the reference, by slabs along the last objective."""
    if points.shape[1] == 1:
        return float(reference[0] - points.min()) if len(points) else 0.0
    ordered = points[points[:, -1].argsort()]
    edges = [*ordered[:, -1].tolist(), float(reference[-1])]
    total = 0.0
    for number in range(len(ordered)):
        height = edges[number + 1] - edges[number]
        if height > 0.0:
            total += height * by_slices(ordered[: number + 1, :-1], reference[:-1])
    return total
