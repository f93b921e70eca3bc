"""Random gradients without a landscape: how often is PCD's program feasible, what binds?"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch

from mobench.core.about import Formula
from mobench.core.metric import SHARE, Metric
from mobench.core.problem import Constants, VectorProblem
from mobench.core.registry import register
from mobench.core.settings import integer
from mobench.core.streams import Streams
from mobench.problems import PAPER
from mobench.solvers.stationarity import hull_margin


@register
class RandomGradients(VectorProblem):
    """K iid random unit gradients at every step; the parameters play no part.

    There is no landscape: what is measured is how often constraints on all secondaries can be met at
    once, and how many of them bind.

    Each of the `draws` steps shows a method K new directions, uniform on the unit sphere of Rⁿ.
    The Farkas margin of a draw is the distance of the secondaries' convex hull from the origin,
    min { ‖Σ_j y_j g_j‖ : y ≥ 0, Σ_j y_j = 1 },  which is positive exactly when the constraints
    g_j·d ≥ τ‖g_j‖² have a common solution for every τ.
    """

    id = "random-gradients@1"
    training: ClassVar = {"optimizer": "sgd", "lr": 0.0, "steps": 51}
    title = "Random gradients"
    formulas = (
        Formula(
            r"g_1, \dots, g_K \sim \ \text{uniform on}\ "
            r"\left\{ g \in \mathbb{R}^n\ :\ \lVert g \rVert = 1 \right\}",
            "Each step",
        ),
        Formula(
            r"\text{min}\ \left\{ \left\lVert \sum_{j \ge 2} y_j g_j \right\rVert\ :\ "
            r"y \ge 0,\ \sum_j y_j = 1 \right\} > 0",
            "All secondaries can make progress at once exactly if",
        ),
    )
    reference = PAPER.at("section “Feasibility and active set with more objectives”")

    k: int = integer(3, low=2, high=64, meaning="number of objectives K")
    dimension: int = integer(50, low=2, meaning="number of parameters n")
    draws: int = integer(51, low=1, meaning="number of different draws; a longer run repeats them")

    def objectives(self) -> tuple[str, ...]:
        return ("primary", *(f"secondary-{j}" for j in range(1, self.k)))

    def constants(self, streams: Streams) -> Constants:
        normal = streams.numpy("problem").standard_normal((self.draws, self.k, self.dimension))
        return {"draws": torch.from_numpy(normal / np.linalg.norm(normal, axis=-1, keepdims=True))}

    def initial(self, constants: Constants, streams: Streams) -> torch.Tensor:
        return torch.zeros(self.dimension, dtype=torch.float64)

    @staticmethod
    def values(theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        return (RandomGradients.gradients(theta, constants, iteration) * theta[:, None, :]).sum(-1)

    @staticmethod
    def gradients(theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        draws = constants["draws"]
        return draws[:, iteration % draws.shape[1]]

    def metrics(self) -> tuple[Metric, ...]:
        return (
            *super().metrics(),
            Metric(
                "farkas_margin",
                "Farkas margin",
                range=SHARE,
                meaning="hull margin of the secondaries, mean over draws: how far PCD's program is from infeasible",
            ),
            Metric(
                "smallest_farkas_margin",
                "smallest Farkas margin",
                range=SHARE,
                meaning="the smallest hull margin of the secondaries over all draws",
            ),
        )

    def measure(self, theta: torch.Tensor, constants: Constants) -> dict[str, float]:
        secondaries = constants["draws"][:, 1:].numpy()
        margins = [hull_margin(gradients @ gradients.T) for gradients in secondaries]
        return {"farkas_margin": float(np.mean(margins)), "smallest_farkas_margin": min(margins)}
