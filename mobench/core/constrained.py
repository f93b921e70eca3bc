"""Methods that minimise one objective subject to thresholds on others, and where the thresholds come from."""

from __future__ import annotations

from typing import Any

import numpy as np

from mobench.core.method import Method, Step, Vector
from mobench.core.settings import one_each, real, reals


class Constrained(Method):
    """A method with a threshold ε_i for every objective: the loss to get below.

    A threshold is what the setting `threshold` says, else what the problem states (`Problem.thresholds`), else the
    `share` of the first loss's distance from its lower bound: ε_i = b_i + share (ℓ_i(0) − b_i).
    """

    share: float = real(
        0.1, low=0.0, high=1.0, meaning="threshold of a loss, as a share of its first value above its lower bound"
    )
    threshold: float | tuple[float, ...] | None = reals(
        None, meaning="threshold of every loss, or one for each; none: as the problem states, else by `share`"
    )

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.limits: Vector | None = None

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self.limits = None
        if self.threshold is not None:
            one_each(f"{self.name}.threshold", self.threshold, k, "objectives")

    def excess(self, step: Step) -> Vector:
        """Return ℓ_i − ε_i for every objective, the primary too; positive where the threshold is not met."""
        distances = step.gaps(-np.inf)  # refuses what is not finite
        if self.limits is None:
            self.limits = step.losses - (1.0 - self.share) * distances
            if step.thresholds is not None:
                self.limits = np.where(np.isnan(step.thresholds), self.limits, step.thresholds)
            if self.threshold is not None:
                self.limits = np.array(one_each(f"{self.name}.threshold", self.threshold, step.k, "objectives"))
        return np.asarray(step.losses - self.limits)
