"""The plane with two wells: the smallest picture of a conflict equilibrium."""

from __future__ import annotations

import math
from typing import ClassVar

import torch

from mobench.core.about import Formula
from mobench.core.metric import NON_NEGATIVE, Metric
from mobench.core.problem import Bounds, Constants, VectorProblem
from mobench.core.registry import register
from mobench.core.settings import choice
from mobench.core.streams import Streams
from mobench.problems import PAPER

STARTS = {"upper": (-2.55, 0.40), "outer": (-2.90, 0.12), "lower": (-1.65, -0.55)}
"""The three starts of the paper's first figure, all in the basin of the wrong well."""

HALF_WIDTH = 0.5
"""Half the side of the square around (2, 0) in which the secondary is zero."""


@register
class TwoWells(VectorProblem):
    """Two equal wells of the primary in the plane, of which a secondary prefers the right one.

    The secondary is zero in a square around the right well and grows away from it, so that the point
    (2, 0) minimises both objectives. All starts lie in the basin of the left well: a method must let
    the primary rise for a while to reach the joint minimum.

        L_1(x, y) = (x² − 4)² / 4 + y² / 2,        L_2(θ) = Σ_i max(|θ − (2, 0)|_i − ½, 0).
    """

    id = "two-wells@1"
    training: ClassVar = {"optimizer": "adam", "lr": 0.01, "steps": 3000}
    title = "Two wells in the plane"
    formulas = (
        Formula(r"L_1(x, y) = \frac{(x^2 - 4)^2}{4} + \frac{y^2}{2}", "Primary"),
        Formula(
            r"L_2(\theta) = \sum_i \text{max}\,\left({\lvert \theta - (2, 0) \rvert}_i - \frac{1}{2},\ 0\right)",
            "Secondary",
        ),
    )
    reference = PAPER.at("figure 1")

    start: str = choice("upper", tuple(STARTS), meaning="which of the three starting points")

    def objectives(self) -> tuple[str, ...]:
        return ("wells", "square")

    def lower_bounds(self, seed: int) -> tuple[float, ...]:
        return (0.0, 0.0)

    def hypervolume_bounds(self) -> Bounds:
        """The reference is the worst start's primary loss and the left well's secondary loss, rounded up."""
        return Bounds(ideal=(0.0, 0.0), reference=(5.0, 5.0))

    def constants(self, streams: Streams) -> Constants:
        return {"target": torch.tensor([2.0, 0.0], dtype=torch.float64)}

    def initial(self, constants: Constants, streams: Streams) -> torch.Tensor:
        return torch.tensor(STARTS[self.start], dtype=torch.float64)

    @staticmethod
    def values(theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        x, y = theta[:, 0], theta[:, 1]
        wells = (x * x - 4.0) ** 2 / 4.0 + y * y / 2.0
        square = ((theta - constants["target"]).abs() - HALF_WIDTH).clamp(min=0.0).sum(-1)
        return torch.stack([wells, square], dim=1)

    @staticmethod
    def gradients(theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        x, y = theta[:, 0], theta[:, 1]
        offset = theta - constants["target"]
        wells = torch.stack([x * (x * x - 4.0), y], dim=1)
        square = torch.sign(offset) * (offset.abs() > HALF_WIDTH)
        return torch.stack([wells, square], dim=1)

    def metrics(self) -> tuple[Metric, ...]:
        return (
            *super().metrics(),
            Metric("x", "x", meaning="first coordinate at the end"),
            Metric("y", "y", meaning="second coordinate at the end"),
            Metric(
                "distance_to_optimum",
                "distance to optimum",
                better="min",
                range=NON_NEGATIVE,
                meaning="Euclidean distance from the joint optimum (2, 0) at the end",
            ),
        )

    def measure(self, theta: torch.Tensor, constants: Constants) -> dict[str, float]:
        x, y = theta.tolist()
        return {"x": x, "y": y, "distance_to_optimum": math.hypot(x - 2.0, y)}
