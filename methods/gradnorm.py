"""GradNorm: weights trained so that all gradients have the length they should."""

from __future__ import annotations

import math
from operator import mul, truediv
from typing import Any, ClassVar

import numpy as np

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Method, Step, Vector
from mobench.core.registry import register
from mobench.core.settings import choice, real
from mobench.core.trained import Trained

LEAST_WEIGHT = 1e-3
"""What training leaves to every objective; the optimizer alone could make a weight negative."""


@register
class GradNorm(Method):
    """Gradient normalisation: weighted gradients get a common length, longer where a loss lags behind.

    Weights are trained by an Adam of their own, which belongs to the method's state. The exponent α, with which a loss
    that has fallen less than the others is served more, is the knob.

    With the lengths n_i = ‖∇_W ℓ_i‖ on the layer W, their weighted mean n̄ = (1/K) Σ_i w_i n_i and the relative inverse
    training rate r_i = x_i / ((1/K) Σ_j x_j), x_i = (ℓ_i − b_i) / (ℓ_i(0) − b_i), w descends

        Σ_i | w_i n_i − n̄ r_i^α |,   the targets n̄ r_i^α held constant           (Eqs. 1 and 2 of the paper),

    by one Adam step after the weights are read, is bounded below by 1e-3, and divided so that Σ_i w_i = K. b_i is the
    lower bound, 0 where none is known.

    W is the last layer that every objective reaches, `layer=last-shared`, or all parameters that the method sees.

    Scale: weights are positive and sum to K; at first d = Σ_i g_i. With one objective d = g_1.
    """

    title = "GradNorm"
    formulas = (
        Formula(
            r"\underset{w}{\text{min}}\ \sum_i \left| w_i n_i - \bar n\, r_i^{\alpha} \right|, \quad "
            r"n_i = \lVert \nabla_W \ell_i \rVert, \quad \bar n = \frac{1}{K} \sum_i w_i n_i",
            "What the weights are trained for",
        ),
        Formula(
            r"r_i = \frac{x_i}{\frac{1}{K} \sum_j x_j}, \quad x_i = \frac{\ell_i}{\ell_i(0)}",
            "How far a loss lags behind the others",
        ),
    )
    reference = Reference(
        "Z. Chen, V. Badrinarayanan, C.-Y. Lee and A. Rabinovich",
        "GradNorm: Gradient Normalization for Adaptive Loss Balancing in Deep Multitask Networks",
        "ICML",
        2018,
        "https://arxiv.org/abs/1711.02257",
    )
    look = Look("#D06104", "#E47423", "<")
    verified = "the paper's loss by PyTorch's autograd and Adam, over a trajectory to 1e-9"
    lacks: ClassVar = {
        "scale-invariant direction": "the weights need many steps to follow a loss that is rescaled",
        "no objective ascends": "the weights know the gradients' lengths, not where they point",
    }

    alpha: float = real(1.5, low=0.0, meaning="α, how much a loss that lags behind is favoured")
    lr: float = real(0.025, low=0.0, meaning="Adam's learning rate for the weights")
    layer: str = choice("last-shared", ("last-shared", "all"), meaning="on which parameters gradients are measured")

    symbols: ClassVar[dict[str, str]] = {"alpha": "α"}

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self._start(0)

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self._start(k)

    def _start(self, k: int) -> None:
        self.factors = Trained([1.0] * k, self.lr)
        self.first: Vector | None = None

    def weights(self, step: Step) -> Vector:
        k, gaps = step.k, step.gap_list()
        if self.first is None:
            self.first = np.array(gaps)
        weights = self.factors.values
        norms = self._norms(step)
        lengths = [*map(mul, weights, norms)]
        rates = [*map(truediv, gaps, self.first.tolist())]
        mean, mean_rate = sum(lengths) / k, sum(rates) / k
        signs = [
            _sign(length - mean * (rate / mean_rate) ** self.alpha) for length, rate in zip(lengths, rates, strict=True)
        ]
        chosen = np.array(weights)
        self.factors.step([*map(mul, signs, norms)])
        bounded = [max(value, LEAST_WEIGHT) for value in self.factors.values]
        scale = k / sum(bounded)
        self.factors.values = [value * scale for value in bounded]
        return chosen

    def _norms(self, step: Step) -> list[float]:
        """Return the gradients' lengths on the layer that is measured."""
        squares = step.gram.diagonal()
        if self.layer == "last-shared" and len(step.layers) > 1:
            reached = [each for gram in step.layer_grams.values() if (each := gram.diagonal()).min() > 0.0]
            squares = reached[-1] if reached else squares
        return [math.sqrt(square) for square in squares.tolist()]


def _sign(value: float) -> float:
    return math.copysign(1.0, value) if value else 0.0
