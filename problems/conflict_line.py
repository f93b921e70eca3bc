"""Two parabolas on a line: the smallest conflict equilibrium."""

from __future__ import annotations

from typing import ClassVar

import torch

from mobench.core.about import Formula
from mobench.core.metric import Metric
from mobench.core.problem import Constants, VectorProblem
from mobench.core.registry import register
from mobench.core.settings import real
from mobench.core.streams import Streams
from mobench.problems import PAPER


@register
class ConflictLine(VectorProblem):
    """Two parabolas on a line with different minima, so that no point is stationary for both.

    Every point between the minima is Pareto-stationary. At the start θ = ½ the two gradients, ½ and −½, cancel.

        L_1(θ) = ½ θ²,        L_2(θ) = ½ (θ − 1)².
    """

    id = "conflict-line@1"
    training: ClassVar = {"optimizer": "sgd", "lr": 0.05, "steps": 200}
    title = "Two parabolas on a line"
    formulas = (
        Formula(r"L_1(\theta) = \frac{1}{2} \theta^2", "Primary"),
        Formula(r"L_2(\theta) = \frac{1}{2} {(\theta - 1)}^2", "Secondary"),
    )
    reference = PAPER.at("section “Stationarity Concepts”")

    start: float = real(0.5, meaning="the start θ_0")

    def objectives(self) -> tuple[str, ...]:
        return ("from-zero", "from-one")

    def lower_bounds(self, seed: int) -> tuple[float, ...]:
        return (0.0, 0.0)

    def constants(self, streams: Streams) -> Constants:
        return {"minima": torch.tensor([0.0, 1.0], dtype=torch.float64)}

    def initial(self, constants: Constants, streams: Streams) -> torch.Tensor:
        return torch.tensor([self.start], dtype=torch.float64)

    @staticmethod
    def values(theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        return 0.5 * (theta - constants["minima"]) ** 2

    @staticmethod
    def gradients(theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        return (theta - constants["minima"]).unsqueeze(2)

    def metrics(self) -> tuple[Metric, ...]:
        return (*super().metrics(), Metric("position", "position", meaning="θ at the end"))

    def measure(self, theta: torch.Tensor, constants: Constants) -> dict[str, float]:
        return {"position": float(theta[0])}
