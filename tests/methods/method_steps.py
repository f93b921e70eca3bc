"""Steps made from plain lists of gradients, for tests whose answers are computed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from hypothesis import settings as hypothesis_settings

from mobench.core.method import Matrix, Method, Step, Vector, checked_weights
from mobench.core.registry import find_method

repeatable = hypothesis_settings(derandomize=True, max_examples=60)
"""The same examples in every session, and no clock."""


class Rows:
    """Gradients that are there already."""

    def __init__(self, rows: Matrix) -> None:
        self.rows = rows

    def gram(self) -> Matrix:
        return self.rows @ self.rows.T

    def gradients(self) -> torch.Tensor:
        return torch.from_numpy(self.rows)


def step_of(
    gradients: Sequence[Sequence[float]] | Matrix,
    losses: Sequence[float] | Vector | None = None,
    bounds: Sequence[float] | Vector | None = None,
) -> Step:
    rows = np.array(gradients, dtype=np.float64)
    values = np.ones(len(rows)) if losses is None else np.array(losses, dtype=np.float64)
    lower = np.zeros(len(rows)) if bounds is None else np.array(bounds, dtype=np.float64)
    return Step(values, Rows(rows), lower)


def started(name: str, k: int, seed: int = 0, **settings: Any) -> Method:
    method = find_method(name)(**settings)
    method.reset(k, np.random.default_rng(seed))
    return method


def weights_of(name: str, gradients: Sequence[Sequence[float]] | Matrix, seed: int = 0, **settings: Any) -> Vector:
    """Return the weights of the first step of a fresh method."""
    step = step_of(gradients)
    return checked_weights(started(name, step.k, seed, **settings), step)


def direction_of(name: str, gradients: Sequence[Sequence[float]] | Matrix, seed: int = 0, **settings: Any) -> Vector:
    """Return the first update of a fresh method."""
    return np.asarray(weights_of(name, gradients, seed, **settings) @ np.array(gradients, dtype=np.float64))
