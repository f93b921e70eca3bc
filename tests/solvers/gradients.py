"""Gradients to solve for: random families of known conditioning, and small exact ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

Array = npt.NDArray[np.float64]

DIMENSION = 50


@dataclass(frozen=True)
class Sample:
    """A Gram matrix and the condition number of C, the Gram matrix of the unit gradients."""

    gram: Array
    condition: float


def scaled_sample(rng: np.random.Generator, directions: Array, decades: float) -> Sample:
    """Give the directions lengths that are spread over 10^−decades … 10^decades."""
    unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    gradients = unit * 10.0 ** rng.uniform(-decades, decades, (len(unit), 1))
    return Sample(gradients @ gradients.T, float(np.linalg.cond(unit)) ** 2)


def independent(rng: np.random.Generator, k: int, decades: float = 6.0) -> Sample:
    """Return iid Gaussian gradients: well-conditioned directions, lengths over twelve decades."""
    return scaled_sample(rng, rng.standard_normal((k, DIMENSION)), decades)


def nearly_dependent(rng: np.random.Generator, k: int, decades: float | None = None) -> Sample:
    """Return gradients that are dependent up to an angle between 1 and 1e-6.

    Half of them are close to one line through the origin, pointing either way; in the other half
    one gradient is close to a combination of the others. Lengths are spread over twelve decades or
    less than one.
    """
    directions = rng.standard_normal((k, DIMENSION))
    angle = 10.0 ** -rng.uniform(0.0, 6.0)
    if rng.random() < 0.5:
        directions = rng.choice((-1.0, 1.0), (k, 1)) * rng.standard_normal(DIMENSION) + angle * directions
    else:
        directions[-1] = rng.standard_normal(k - 1) @ directions[:-1] + angle * directions[-1]
    return scaled_sample(rng, directions, rng.choice((0.3, 6.0)) if decades is None else decades)


@st.composite
def small_integers(
    draw: st.DrawFn, smallest_k: int = 1, largest_k: int = 6, zeros: bool = True
) -> npt.NDArray[np.float64]:
    """Draw gradients of few small integers: an exact Gram matrix, often dependent in every way."""
    k = draw(st.integers(smallest_k, largest_k))
    n = draw(st.integers(1, 4))
    row = st.lists(st.integers(-3, 3), min_size=n, max_size=n)
    if not zeros:
        row = row.filter(any)
    return np.array(draw(st.lists(row, min_size=k, max_size=k)), dtype=np.float64)


def lengths(gradients: Array) -> Array:
    norms: Array = np.linalg.norm(gradients, axis=1)
    return norms
