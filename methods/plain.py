"""Plain training: the primary objective alone, as if there were no other."""

from __future__ import annotations

from typing import ClassVar

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step
from mobench.core.registry import register


@register
class Plain(Method):
    """Descend the primary objective alone; what every other method gives up is measured against it.

    Nothing is read from the step, so that it costs one plain backward pass. A problem does nothing for the
    secondaries either: compression applies no proximal step. With it, d = g_1.

    Scale: that of the primary gradient.
    """

    title = "Plain training"
    formulas = (Formula(r"d = g_1", "The primary gradient"),)
    reference = Reference(
        "D. Varam and M. I. AlHajri",
        "Not All Objectives Are Born Equal: Priority-Constrained Descent for Hierarchical Multi-Objective Optimization",
        "the unpruned baseline of its tables",
        2026,
    )
    look = Look("#6C5454", "#846060", "s")
    lacks: ClassVar = {
        "symmetric in all objectives": "only the first objective counts",
        "no objective ascends": "the secondaries are not looked at",
    }
    primary_only = True

    def weights(self, step: Step) -> list[float]:
        return [1.0] + [0.0] * (step.k - 1)
