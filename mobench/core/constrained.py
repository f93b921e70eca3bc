"""Methods that minimise one objective subject to thresholds on others, and where the thresholds come from."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from mobench.core.method import Method, Step, Vector
from mobench.core.metric import SHARE, Metric
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


class Multiplied(Constrained):
    """A method that descends the primary with weight 1, and secondaries with multipliers λ ≥ 0 for their thresholds.

    The primary's own threshold is not used.
    """

    lacks_with_multipliers: ClassVar = {
        "symmetric in all objectives": "the first objective is the primary",
        "scale-invariant direction": "multipliers grow with the losses as they are",
        "length follows the gradients": "multipliers grow with the losses as they are",
        "no objective ascends": "the weights know the losses, not where the gradients point",
    }
    diagnostics = (
        Metric(
            "violated", "violated thresholds", better="min", range=SHARE, meaning="share of secondaries above theirs"
        ),
    )

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.start(0)

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self.start(k - 1)

    @abstractmethod
    def start(self, secondaries: int) -> None:
        """Set the multipliers of so many secondaries to 0."""

    def above(self, step: Step) -> Vector:
        """Return ℓ_j − ε_j of the secondaries, and note how many are above their thresholds."""
        above = self.excess(step)[1:]
        if len(above):
            step.note(violated=np.count_nonzero(above > 0.0) / len(above))
        return above
