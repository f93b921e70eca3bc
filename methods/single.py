"""One objective alone: what training looks like that ignores all others."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step
from mobench.core.registry import register
from mobench.core.settings import integer
from mobench.errors import UserError


@register
class Single(Method):
    """Descend one objective and ignore all others.

    With a trunk that tasks share and heads of their own this is single-task training: the trunk follows one task, and
    the other heads learn what they can from it. It is the baseline of Δm, and the end of a front.

    Scale: the update is the gradient of the chosen objective.
    """

    title = "One objective alone"
    formulas = (Formula(r"d = g_i", "Update"),)
    reference = Reference("R. Caruana", "Multitask Learning", "Machine Learning 28", 1997)
    look = Look("#006600", "#007A00", "o")

    lacks: ClassVar = {
        "symmetric in all objectives": "only the chosen objective counts",
        "no objective ascends": "the other objectives are not looked at",
    }

    objective: int = integer(1, low=1, meaning="which objective, counted from 1; the primary is the first")

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        if self.objective > k:
            raise UserError(
                f"single.objective={self.objective} is not accepted; the problem has {k} objectives, counted from 1"
            )

    def weights(self, step: Step) -> list[float]:
        return [float(position == self.objective) for position in range(1, step.k + 1)]
