"""Methods whose weights solve equations that have no solution where 0 is in the gradients' hull."""

from __future__ import annotations

from typing import Any

import numpy as np

from mobench.core.method import Method, Vector
from mobench.core.settings import choice


def unsolved_setting() -> Any:
    """Declare what becomes of a step without a solution."""
    meaning = "without a solution: a zero step, or the weights of the last solution (ones before the first)"
    return choice("zero", ("zero", "previous"), meaning=meaning, implicit=True)


class Bargaining(Method):
    """A method that remembers its last solution; each declares `unsolved` as its last setting."""

    unsolved: str

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.kept: Vector | None = None

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self.kept = None

    def settled(self, weights: Vector, *, solved: bool) -> Vector:
        """Return the weights of a solution, or what takes their place where there is none."""
        if solved:
            self.kept = weights if weights.any() else self.kept
            return weights
        if self.unsolved == "zero":
            return np.zeros_like(weights)
        return np.ones_like(weights) if self.kept is None else self.kept
