"""Methods that are told in which proportion the losses are to be."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mobench.core.method import Method, Vector
from mobench.core.settings import one_each, reals


class Preferring(Method):
    """A method with a preference r: at its goal the losses, above their lower bounds, are in proportion to 1/r_i."""

    preference: float | tuple[float, ...] = reals(
        1.0, low=0.0, low_open=True, meaning="r, the losses are to be in proportion to 1/r_i"
    )

    symbols: ClassVar[dict[str, str]] = {"preference": "r"}

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self.preferences(k)

    def preferences(self, k: int) -> Vector:
        """Return r as one number for each of `k` objectives."""
        return np.array(self.preference_list(k))

    def preference_list(self, k: int) -> tuple[float, ...]:
        """Return `preferences` as a tuple."""
        return one_each(f"{self.name}.preference", self.preference, k, "objectives")
