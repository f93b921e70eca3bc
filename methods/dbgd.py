"""DBGD: dynamic barrier gradient descent, which demands progress of one objective and follows another."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step, Vector
from mobench.core.metric import SHARE, Metric
from mobench.core.registry import register
from mobench.core.settings import choice, real
from mobench.solvers.scaling import SMALLEST_SQUARE


@register
class DBGD(Method):
    """Dynamic barrier gradient descent: follow one objective as far as another one's progress allows.

    The direction is the nearest to the gradient of one objective among all along which the other falls at least as fast
    as a barrier demands. The barrier falls with that objective's own gradient, so that the first is followed freely
    once the second has come to rest. The share b of the gradient that the barrier demands is the knob.

    With the followed gradient f, the gradient h of the objective behind the barrier and its loss ℓ ≥ c,

        d = argmin ½ ‖d − f‖²   s.t.   h·d ≥ φ,        d = f + λ h,   λ = max(0, (φ − f·h) / ‖h‖²),

    and the two published barriers, by `phi`:

        norm:  φ = b ‖h‖²;          loss:  φ = min(a (ℓ − c), b ‖h‖²).

    c is the lower bound, 0 where none is known. `barrier` says who is behind it. In the paper that is the main loss:
    h = g_1, and f = Σ_j g_j is the sum of the secondaries' gradients. The other role, `barrier=secondaries`, has
    f = g_1 and h = Σ_j g_j. With K = 2 and the first barrier it is then PCD with `normalization=none rescale=none` at
    τ = b; `docs/relatives.md` has the relation for every normalisation. The paper has two losses; the sum is ours for
    more.

    Bloop's authors compare with w·d at b = 1/w: the secondary's gradient has the weight w, and the barrier is ‖g_1‖².

    Published values are a = b = 1 (third-party scripts), and a in {.1, 1, 10}, b in {.01, 1, 10} in a replication of
    the supplement's toy; neither is the authors' own code, which was not found.

    Scale: f has weight one. With one objective d = g_1.
    """

    title = "DBGD"
    formulas = (
        Formula(
            r"d = \underset{d}{\text{arg min}}\ \frac{1}{2} {\lVert d - f \rVert}^2 \quad \text{subject to} \quad "
            r"h \cdot d \ge \varphi",
            "The direction, with f the followed gradient and h the one behind the barrier",
        ),
        Formula(
            r"d = f + \text{max}\left(0,\ \frac{\varphi - f \cdot h}{{\lVert h \rVert}^2}\right) h, \quad "
            r"\varphi = b {\lVert h \rVert}^2 \ \text{or}\ \text{min}\left(a (\ell - c),\ b {\lVert h \rVert}^2\right)",
            "The same in closed form, and the two barriers",
        ),
    )
    reference = Reference(
        "C. Gong, X. Liu and Q. Liu",
        "Automatic and Harmless Regularization with Constrained and Lexicographic Optimization: "
        "A Dynamic Barrier Approach",
        "NeurIPS",
        2021,
    )
    look = Look("#6E591D", "#88702B", "o")
    verified = "the rule in third-party code that cites the paper; its program by another solver to 1e-9"
    lacks: ClassVar = {
        "symmetric in all objectives": "the primary is behind the barrier, or followed",
        "scale-invariant direction": "the followed gradient has weight one, whatever its scale",
        "no objective ascends": "what is followed gives way to the barrier, and may ascend",
    }

    b: float = real(1.0, low=0.0, meaning="b, share of its own gradient's progress that the barrier demands")
    phi: str = choice("norm", ("norm", "loss"), meaning="the barrier: b‖h‖², or the smaller of that and a(ℓ − c)")
    a: float = real(1.0, low=0.0, meaning="a, share of the loss above its bound that `phi=loss` demands")
    barrier: str = choice("primary", ("primary", "secondaries"), meaning="who is behind the barrier; the other leads")

    diagnostics = (
        Metric("active", "steps at the barrier", range=SHARE, meaning="whether the barrier changes the direction"),
    )

    def weights(self, step: Step) -> Vector:
        gram = step.gram
        if step.k == 1:
            return np.ones(1)
        behind = np.arange(step.k) == 0
        if self.barrier == "secondaries":
            behind = ~behind
        of_behind, followed = behind.astype(np.float64), (~behind).astype(np.float64)
        along = gram @ of_behind
        square, product = float(of_behind @ along), float(followed @ along)
        multiplier = 0.0
        if square >= SMALLEST_SQUARE:
            demand = self.b - product / square
            if self.phi == "loss":
                demand = min(demand, (self.a * float(step.gaps(0.0)[behind].sum()) - product) / square)
            multiplier = max(0.0, demand)
        step.note(active=multiplier > 0.0)
        return np.asarray(followed + multiplier * of_behind)
