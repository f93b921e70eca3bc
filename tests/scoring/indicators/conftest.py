"""Two independent exact volumes, in rational arithmetic, to hold the metrics against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, pairwise, product

import pytest

ExactVolume = Callable[[Sequence[Sequence[float]]], Fraction]


def volume_on_grid(points: Sequence[Sequence[float]]) -> Fraction:
    """Cut [0, 1]^K at every coordinate of every point; add the cells whose lower corner is dominated."""
    rows = [[Fraction(x) for x in row] for row in points if all(x < 1 for x in row)]
    if not rows:
        return Fraction(0)
    axes = [sorted({max(row[i], Fraction(0)) for row in rows} | {Fraction(1)}) for i in range(len(rows[0]))]
    total = Fraction(0)
    for cell in product(*(list(pairwise(axis)) for axis in axes)):
        if any(all(x <= low for x, (low, _) in zip(row, cell, strict=True)) for row in rows):
            width = Fraction(1)
            for low, high in cell:
                width *= high - low
            total += width
    return total


def volume_by_inclusion_exclusion(points: Sequence[Sequence[float]]) -> Fraction:
    """Add and subtract the boxes that each set of points dominates together."""
    rows = [[max(Fraction(x), Fraction(0)) for x in row] for row in points if all(x < 1 for x in row)]
    total = Fraction(0)
    for size in range(1, len(rows) + 1):
        for chosen in combinations(rows, size):
            box = Fraction(1)
            for column in zip(*chosen, strict=True):
                box *= 1 - max(column)
            total += (-1) ** (size + 1) * box
    return total


@pytest.fixture(scope="session")
def grid_volume() -> ExactVolume:
    return volume_on_grid


@pytest.fixture(scope="session", params=[volume_on_grid, volume_by_inclusion_exclusion], ids=["grid", "inclusion"])
def exact_volume(request: pytest.FixtureRequest) -> ExactVolume:
    chosen: ExactVolume = request.param
    return chosen
