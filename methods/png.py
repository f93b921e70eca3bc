"""PNG: follow a criterion over the Pareto set of the other objectives."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step, Vector
from mobench.core.metric import NON_NEGATIVE, SHARE, Metric
from mobench.core.registry import register
from mobench.core.settings import real
from mobench.solvers import min_norm_point, project_primary
from mobench.solvers.scaling import SMALLEST_SQUARE


@register
class PNG(Method):
    """Pareto navigating gradient descent: the best point for the primary among the Pareto points of the secondaries.

    The direction is the nearest to the primary's gradient along which every secondary falls at least as fast as a
    demand that is the same for all. The demand vanishes where the secondaries' gradients cancel, so that the primary
    leads there. The share a of MGDA's progress that is demanded is the knob.

    With g* the shortest vector in the convex hull of the secondaries' gradients g_j, j ≥ 2,

        d = argmin ½ ‖d − g_1‖²   s.t.   g_j·d ≥ φ  for every j ≥ 2,        φ = a ‖g*‖²   where ‖g*‖² > e,

    and d = g_1 elsewhere. d = a g* satisfies all demands, so that there always is a solution. It is PCD's program with
    another right-hand side, the primary as the criterion that the paper calls F. PCD's demand τ‖g_j‖² does not vanish
    where the secondaries' gradients cancel; `docs/relatives.md` says where they part.

    The program is solved exactly, where public code takes 200 projected gradient steps on its dual and 30 Frank–Wolfe
    steps for g*. That code uses e = 0.1 twice, relative to mean ‖g_j‖² for φ and absolute to drop the demands, a second
    port 0.01; here e is absolute, and depends on the scale of the secondaries. Its a is 0.5, and 0.25 and 0.1 in
    demonstrations. The authors' own repository was not seen.

    Scale: the primary gradient has weight one. With one objective d = g_1.
    """

    title = "PNG"
    formulas = (
        Formula(
            r"d = \underset{d}{\text{arg min}}\ \frac{1}{2} {\lVert d - g_1 \rVert}^2 \quad \text{subject to} \quad "
            r"g_j \cdot d \ge a {\lVert g^{*} \rVert}^2, \quad j \ge 2",
            "The direction, where the secondaries have not come to rest",
        ),
        Formula(
            r"g^{*} = \underset{g}{\text{arg min}}\ \left\{ \lVert g \rVert\ :\ g = \sum_{j \ge 2} \alpha_j g_j,\ "
            r"\alpha \ge 0,\ \sum_j \alpha_j = 1 \right\}",
            "MGDA's vector of the secondaries",
        ),
    )
    reference = Reference(
        "M. Ye and Q. Liu",
        "Pareto Navigation Gradient Descent: a First-Order Algorithm for Optimization in Pareto Set",
        "UAI",
        2022,
        "https://arxiv.org/abs/2110.08713",
    )
    look = Look("#509AB7", "#74CAEC", "h")
    verified = "the paper's program by another solver to 1e-9; the rule in third-party code"
    lacks: ClassVar = {
        "symmetric in all objectives": "the first objective is the criterion",
        "scale-invariant direction": "one demand for all secondaries follows their lengths",
        "no objective ascends": "the primary gives way to the secondaries, and may ascend",
    }

    a: float = real(0.5, low=0.0, meaning="a, demanded share of the progress that MGDA makes for all secondaries")
    e: float = real(0.01, low=0.0, meaning="e, squared length of g* up to which the primary is followed freely")

    diagnostics = (
        Metric("active", "binding constraints", range=NON_NEGATIVE, meaning="constraints that bind"),
        Metric("free", "steps without demands", range=SHARE, meaning="whether g* is too short for any demand"),
    )

    def weights(self, step: Step) -> Vector:
        gram, weights = step.gram, np.zeros(step.k)
        weights[0] = 1.0
        if step.k == 1:
            return weights
        secondaries = gram[1:, 1:]
        shortest = min_norm_point(secondaries)
        square = float(shortest @ secondaries @ shortest)
        squares = secondaries.diagonal()
        free = square <= self.e or squares.min() < SMALLEST_SQUARE
        active = 0
        if not free:
            found = project_primary(gram, self.a * square / squares, step.resolution)
            free = not found.feasible  # g* is too short for the step's resolution
            weights[1:], active = found.multipliers, int(found.active.sum())
        step.note(active=active, free=free)
        return weights
