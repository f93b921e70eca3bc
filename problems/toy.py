"""The toy of the CAGrad and Nash-MTL papers: two objectives in the plane with steep valleys and a known front."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import torch

from mobench.core.about import Formula, Reference
from mobench.core.metric import NON_NEGATIVE, Metric
from mobench.core.problem import Bounds, Constants, VectorProblem
from mobench.core.registry import register
from mobench.core.settings import choice, real
from mobench.core.streams import Streams

STARTS = {
    "upper-left": (-8.5, 7.5),
    "origin": (0.0, 0.0),
    "upper-right": (9.0, 9.0),
    "left": (-7.5, -0.5),
    "right": (9.0, -1.0),
}
"""The five starts of the papers."""

FLOOR = 5e-6
"""The arguments of the logarithms are cut off below."""
VALLEYS = (-7.0, 7.0)
"""Objective i has its valley on the line x₁ = VALLEYS[i] + 2 tanh x₂."""
CENTRES = (7.0, -7.0)
"""Objective i has its minimum near (CENTRES[i], −8)."""
POINTS = 401
"""How many points of the front are stated."""


@register
class Toy(VectorProblem):
    """Two objectives in the plane, each with a steep curved valley above the axis and a bowl below it.

    Papers on gradient conflict show their methods on this problem. In the upper half of the plane each objective has a
    narrow valley, where its gradient is a thousand times that of the other objective. The front lies in the lower half,
    between the two bowls' minima. A method that follows the larger gradient gets stuck in a valley, off the front.

    With o = (−7, 7) and m = (7, −7), for i = 1, 2,

        f_i(x) = ln max(|½ (o_i − x₁) + tanh x₂|, 5e-6) + 6,      c_1(x) = max(tanh ½x₂, 0),
        q_i(x) = ((x₁ − m_i)² + 0.1 (x₂ + 8)²) / 10 − 20,         c_2(x) = max(−tanh ½x₂, 0),

        L_i(x) = f_i(x) c_1(x) + q_i(x) c_2(x),    and L_1 is multiplied by `scale`.

    On the axis x₂ = 0 both c_i have a kink. The gradient there adds the slopes of both sides, which is what the clamp
    of earlier versions of torch passes. With a slope of 0, as newer ones have it, nothing would ever leave the start at
    the origin, where both objectives are 0.

    The front is known: below the axis the minimiser of λ L_1 + (1 − λ) L_2 has x₁ = 7 (2λ − 1), and x₂ solves
    c_2' (q + 19.6 λ(1 − λ)) + c_2 q' = 0 with q = 0.01 (x₂ + 8)² − 20.
    Values are reported in the original unit, `right` = L_1 / scale.
    """

    id = "toy@1"
    title = "The toy of CAGrad and Nash-MTL"
    formulas = (
        Formula(r"L_i(x) = f_i(x)\, c_1(x) + q_i(x)\, c_2(x), \quad i = 1, 2", "Both objectives"),
        Formula(
            r"f_i(x) = \ln\, \text{max}\left(\left\lvert \frac{o_i - x_1}{2} + \tanh x_2 \right\rvert,\ "
            r"5 \cdot 10^{-6}\right) + 6, \quad o = (-7, 7)",
            "Valleys above the axis",
        ),
        Formula(
            r"q_i(x) = \frac{(x_1 - m_i)^2 + 0.1\,(x_2 + 8)^2}{10} - 20, \quad m = (7, -7)",
            "Bowls below it",
        ),
        Formula(
            r"c_1(x) = \text{max}\left(\tanh \frac{x_2}{2},\ 0\right), \quad "
            r"c_2(x) = \text{max}\left(-\tanh \frac{x_2}{2},\ 0\right)",
            "What is seen of each",
        ),
    )
    reference = Reference(
        "B. Liu, X. Liu, X. Jin, P. Stone and Q. Liu",
        "Conflict-Averse Gradient Descent for Multi-task Learning",
        "NeurIPS",
        2021,
        "https://arxiv.org/abs/2110.14048",
    )

    start: str = choice("upper-left", tuple(STARTS), meaning="which of the five starting points")
    scale: float = real(
        1.0, low=0.0, low_open=True, meaning="factor on the first objective; Nash-MTL and FAMO also show 0.1"
    )

    def objectives(self) -> tuple[str, ...]:
        return ("right", "left")

    def lower_bounds(self, seed: int) -> tuple[float, ...]:
        return (-20.0 * self.scale, -20.0)

    def hypervolume_metrics(self) -> tuple[str, ...]:
        return ("right", "loss/left")

    def hypervolume_bounds(self) -> Bounds:
        """From the bowls' depth to above both objectives at all starts."""
        return Bounds(ideal=(-20.0, -20.0), reference=(10.0, 10.0))

    def constants(self, streams: Streams) -> Constants:
        return {"scale": torch.tensor([self.scale, 1.0], dtype=torch.float64)}

    def initial(self, constants: Constants, streams: Streams) -> torch.Tensor:
        return torch.tensor(STARTS[self.start], dtype=torch.float64)

    @staticmethod
    def values(theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        x, y = theta[:, :1], theta[:, 1:]
        distance, bowls = _parts(x, y)
        c = torch.tanh(0.5 * y)
        above, below = c.clamp(min=0.0), (-c).clamp(min=0.0)
        valleys = distance.abs().clamp(min=FLOOR).log() + 6.0
        return constants["scale"] * (valleys * above + bowls * below)

    @staticmethod
    def gradients(theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        x, y = theta[:, :1], theta[:, 1:]
        distance, bowls = _parts(x, y)
        c = torch.tanh(0.5 * y)
        slope = 0.5 * (1.0 - c * c)
        above, below = c.clamp(min=0.0), (-c).clamp(min=0.0)
        above_slope, below_slope = slope * (c >= 0.0), -slope * (c <= 0.0)
        outside = distance.abs() >= FLOOR
        valleys = distance.abs().clamp(min=FLOOR).log() + 6.0
        steepness = torch.where(outside, 1.0 / torch.where(outside, distance, 1.0), 0.0)
        valleys_x, valleys_y = -0.5 * steepness, steepness * (1.0 - torch.tanh(y) ** 2)
        bowls_x, bowls_y = 0.2 * (x - torch.tensor(CENTRES, dtype=theta.dtype)), 0.02 * (y + 8.0)
        along_x = valleys_x * above + bowls_x * below
        along_y = valleys_y * above + valleys * above_slope + bowls_y * below + bowls * below_slope
        return constants["scale"][:, :, None] * torch.stack([along_x, along_y], dim=2)

    def pareto_set(self, seed: int) -> npt.NDArray[np.float64]:
        """Return the minimisers of λ L_1 + (1 − λ) L_2 for λ from 0 to 1, by Newton's method in x₂."""
        share = np.linspace(0.0, 1.0, POINTS)
        y = np.full(POINTS, -8.5)
        for _ in range(30):
            c = np.tanh(-0.5 * y)
            c1 = -0.5 * (1.0 - c * c)
            c2 = c * c1
            q, q1, q2 = 0.01 * (y + 8.0) ** 2 - 20.0 + 19.6 * share * (1.0 - share), 0.02 * (y + 8.0), 0.02
            y = y - (c1 * q + c * q1) / (c2 * q + 2.0 * c1 * q1 + c * q2)
        return np.column_stack([7.0 * (2.0 * share - 1.0), y])

    def pareto_front(self, seed: int) -> npt.NDArray[np.float64]:
        theta = torch.from_numpy(self.pareto_set(seed))
        return self.values(theta, {"scale": torch.ones(POINTS, 2, dtype=torch.float64)}, 0).numpy()

    def metrics(self) -> tuple[Metric, ...]:
        return (
            *super().metrics(),
            Metric(
                "right", "first objective", better="min", meaning="the first objective in its own unit, L_1 / scale"
            ),
            Metric("x", "x₁", meaning="first coordinate at the end"),
            Metric("y", "x₂", meaning="second coordinate at the end"),
            Metric(
                "distance_to_front",
                "distance to the Pareto set",
                better="min",
                range=NON_NEGATIVE,
                meaning="Euclidean distance in the plane from the nearest Pareto-optimal point at the end",
            ),
        )

    def measure(self, theta: torch.Tensor, constants: Constants) -> dict[str, float]:
        one = {name: value[None] for name, value in constants.items()}
        first = float(self.values(theta[None], one, 0)[0, 0]) / self.scale
        x, y = theta.tolist()
        return {"right": first, "x": x, "y": y, "distance_to_front": _distance((x, y), self.pareto_set(0))}


def _parts(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the arguments of the logarithms without absolute value, and the bowls; B×2 each."""
    valleys, centres = (torch.tensor(numbers, dtype=x.dtype) for numbers in (VALLEYS, CENTRES))
    return 0.5 * (valleys - x) + torch.tanh(y), ((x - centres) ** 2 + 0.1 * (y + 8.0) ** 2) / 10.0 - 20.0


def _distance(point: tuple[float, float], line: npt.NDArray[np.float64]) -> float:
    """Return the distance of a point from a line through the given points."""
    starts, steps = line[:-1], np.diff(line, axis=0)
    along = ((np.array(point) - starts) * steps).sum(1) / (steps * steps).sum(1)
    nearest = starts + np.clip(along, 0.0, 1.0)[:, None] * steps
    return min(math.hypot(*offset) for offset in (np.array(point) - nearest).tolist())
