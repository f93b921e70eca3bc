"""Lexicographic descent: one objective after the other, in the order of their priority."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.constrained import Constrained
from mobench.core.method import Step, Vector
from mobench.core.metric import NON_NEGATIVE, Metric
from mobench.core.registry import register
from mobench.solvers import project_primary


@register
class Lexicographic(Constrained):
    """Serve the first objective until it meets its threshold, then the next without raising those before.

    The order of the objectives is their priority. The first that is still above its threshold is descended, by the
    direction nearest to its gradient that raises none of those with a higher priority. Where the thresholds lie is
    the knob.

    With a the first objective above its threshold ε_a, or the last one if all thresholds are met,

        d = argmin ½ ‖d − g_a‖²   s.t.   g_j·d ≥ 0  for every j < a,

    an exact quadratic program on the Gram matrix. A threshold is what `threshold` says, else what the problem states,
    else ε_i = b_i + `share` (ℓ_i(0) − b_i).

    The order and its thresholds are those of lexicographic goal programming, with an aspiration level for each
    objective. The direction is the projection of gradient episodic memory (D. Lopez-Paz and M. Ranzato, NeurIPS 2017),
    of the gradient that is served on what hurts none before. No paper is known to us that prints both together.

    Scale: ‖d‖ ≤ ‖g_a‖. With one objective d = g_1.
    """

    title = "Lexicographic descent"
    formulas = (
        Formula(
            r"d = \underset{d}{\text{arg min}}\ \lVert d - g_a \rVert \quad \text{subject to} \quad g_j \cdot d \ge 0, "
            r"\quad j < a",
            "The direction, where the losses before a meet their thresholds and ℓ_a does not",
        ),
    )
    reference = Reference(
        "J. P. Ignizio",
        "Goal Programming and Extensions",
        "Lexington Books",
        1976,
    )
    look = Look("#6E3CB9", "#824FCA", "p")
    verified = "unverified: no paper states this update; its program by a solver of 60 digits"
    lacks: ClassVar = {
        "symmetric in all objectives": "their order is their priority",
        "no objective ascends": "those of lower priority may ascend",
    }

    diagnostics = (
        Metric(
            "served", "objective served", range=NON_NEGATIVE, meaning="the objective that is descended, 1 the primary"
        ),
    )

    def weights(self, step: Step) -> Vector:
        above = self.excess(step) > 0.0
        served = int(above.argmax()) if above.any() else step.k - 1
        step.note(served=served + 1)
        order = [served, *range(served)]
        weights = np.zeros(step.k)
        weights[served] = 1.0
        if served:
            gram = step.gram[np.ix_(order, order)]
            weights[:served] = project_primary(gram, 0.0, step.resolution).multipliers
        return weights
