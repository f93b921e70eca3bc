"""Plain training: one objective alone, as if there were no other."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step
from mobench.core.registry import register
from mobench.core.settings import integer
from mobench.errors import UserError


@register
class Plain(Method):
    """Descend one objective alone, the primary by default; what every other method gives up is measured against it.

    Nothing is read from the step, so that it costs one plain backward pass. A problem does nothing for the
    others either: compression applies no proximal step. With a trunk that tasks share and heads of their own this
    is single-task training: the trunk follows one task, and the other heads learn what they can from it. It is
    the baseline of Δm, and the end of a front. With i the `objective`, d = g_i.

    Scale: that of the chosen gradient.
    """

    title = "Plain training"
    formulas = (Formula(r"d = g_i", "The gradient of one objective, of the primary by default"),)
    reference = Reference(
        "D. Varam and M. I. AlHajri",
        "Not All Objectives Are Born Equal: Priority-Constrained Descent for Hierarchical Multi-Objective Optimization",
        "the unpruned baseline of its tables",
        2026,
    )
    look = Look("#6C5454", "#846060", "s")
    baseline = True
    lacks: ClassVar = {
        "symmetric in all objectives": "only the chosen objective counts",
        "no objective ascends": "the other objectives are not looked at",
    }
    one_objective = True

    objective: int = integer(
        1, low=1, meaning="which objective, counted from 1; the primary is the first", implicit=True
    )

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        if self.objective > k:
            raise UserError(
                f"plain.objective={self.objective} is not accepted; the problem has {k} objectives, counted from 1"
            )

    def weights(self, step: Step) -> list[float]:
        return [float(position == self.objective) for position in range(1, step.k + 1)]
