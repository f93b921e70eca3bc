"""ZDT1 to 4 and 6: two objectives, with fronts that are convex, concave, in pieces, and behind many local ones."""

from __future__ import annotations

import math

import numpy as np
import torch

from mobench.core.about import Formula
from mobench.core.problem import Bounds
from mobench.core.registry import register
from mobench.core.settings import integer

from .box import ZITZLER, BoxProblem, Points

POINTS = 400
"""About how many points of a front are stated."""
PIECES = (
    (0.0, 0.0830015349),
    (0.1822287280, 0.2577623634),
    (0.4093136748, 0.4538821041),
    (0.6183967944, 0.6525117038),
    (0.8233317983, 0.8518328654),
)
"""Where f_1 lies on the front of ZDT3."""
_DISTANCE = Formula(r"g(x) = 1 + \frac{9}{n - 1} \sum_{i \ge 2} x_i", "Distance from the front, where g = 1")


def _distance(x: torch.Tensor) -> torch.Tensor:
    return 1.0 + 9.0 / (x.shape[1] - 1) * x[:, 1:].sum(1)


def _above_root_front(first: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
    """Return f_1 and f_2 = g (1 − √(f_1/g)), of ZDT1 and 4."""
    return torch.stack([first, g * (1.0 - (first / g).sqrt())], dim=1)


def _root_front() -> Points:
    """Return the front f_2 = 1 − √f_1."""
    first = np.linspace(0.0, 1.0, POINTS)
    return np.column_stack([first, 1.0 - np.sqrt(first)])


@register
class ZDT1(BoxProblem):
    """A convex front in the unit box.

    The first objective is one coordinate. The others only measure the distance from the front, and the front lies on
    the faces of the box where they are zero: f_2 = 1 − √f_1.
    """

    id = "zdt1@1"
    title = "ZDT1"
    formulas = (Formula(r"f_1 = x_1, \quad f_2 = g \left(1 - \sqrt{x_1 / g}\right)", "Objectives"), _DISTANCE)
    reference = ZITZLER
    pymoo = "zdt1"

    def hypervolume_bounds(self) -> Bounds:
        return Bounds(ideal=(0.0, 0.0), reference=(1.1, 1.1))

    @staticmethod
    def evaluate(x: torch.Tensor, k: int) -> torch.Tensor:
        first, g = x[:, 0], _distance(x)
        return _above_root_front(first, g)

    def pareto_front(self, seed: int) -> Points:
        return _root_front()


@register
class ZDT2(BoxProblem):
    """A concave front in the unit box.

    It differs from the first problem of the collection in the shape of its front, f_2 = 1 − f_1². No weighted sum of
    the objectives has a minimum between the two ends of it, so that a sweep of weights finds the ends alone.
    """

    id = "zdt2@1"
    title = "ZDT2"
    formulas = (Formula(r"f_1 = x_1, \quad f_2 = g \left(1 - (x_1 / g)^2\right)", "Objectives"), _DISTANCE)
    reference = ZITZLER
    pymoo = "zdt2"

    def hypervolume_bounds(self) -> Bounds:
        return Bounds(ideal=(0.0, 0.0), reference=(1.1, 1.1))

    @staticmethod
    def evaluate(x: torch.Tensor, k: int) -> torch.Tensor:
        first, g = x[:, 0], _distance(x)
        return torch.stack([first, g * (1.0 - (first / g) ** 2)], dim=1)

    def pareto_front(self, seed: int) -> Points:
        first = np.linspace(0.0, 1.0, POINTS)
        return np.column_stack([first, 1.0 - first**2])


@register
class ZDT3(BoxProblem):
    """A front in five pieces, in the unit box.

    A wave in the second objective cuts the curve f_2 = 1 − √f_1 − f_1 sin 10πf_1 into parts, of which five are not
    dominated. A method that only descends stays in the valley of the wave in which it starts.
    """

    id = "zdt3@1"
    title = "ZDT3"
    formulas = (
        Formula(
            r"f_1 = x_1, \quad f_2 = g \left(1 - \sqrt{x_1 / g} - (x_1 / g) \sin 10 \pi x_1\right)",
            "Objectives",
        ),
        _DISTANCE,
    )
    reference = ZITZLER
    pymoo = "zdt3"

    def lower_bounds(self, seed: int) -> tuple[float, ...]:
        return (0.0, -0.7734)

    def hypervolume_bounds(self) -> Bounds:
        return Bounds(ideal=(0.0, -0.8), reference=(1.0, 1.1))

    @staticmethod
    def evaluate(x: torch.Tensor, k: int) -> torch.Tensor:
        first, g = x[:, 0], _distance(x)
        share = first / g
        return torch.stack([first, g * (1.0 - share.sqrt() - share * (10.0 * math.pi * first).sin())], dim=1)

    def pareto_front(self, seed: int) -> Points:
        first = np.concatenate([np.linspace(*piece, POINTS // len(PIECES)) for piece in PIECES])
        second = 1.0 - np.sqrt(first) - first * np.sin(10.0 * np.pi * first)
        record = np.concatenate([[True], second[1:] < np.minimum.accumulate(second)[:-1]])
        return np.column_stack([first[record], second[record]])


@register
class ZDT4(BoxProblem):
    """The front of ZDT1 behind 21⁹ local fronts.

    The distance from the front is Rastrigin's function of the other nine coordinates, which have a local minimum every
    half unit. A method that only descends ends on the local front below its start.
    """

    id = "zdt4@1"
    title = "ZDT4"
    formulas = (
        Formula(r"f_1 = x_1, \quad f_2 = g \left(1 - \sqrt{x_1 / g}\right)", "Objectives"),
        Formula(
            r"g(x) = 1 + 10 (n - 1) + \sum_{i \ge 2} \left(x_i^2 - 10 \cos 4 \pi x_i\right), \quad -5 \le x_i \le 5",
            "Distance from the front",
        ),
    )
    reference = ZITZLER
    pymoo = "zdt4"

    dimension: int = integer(10, low=2, meaning="number of parameters n")

    def box(self) -> tuple[Points, Points]:
        others = np.full(self.dimension - 1, 5.0)
        return np.concatenate([[0.0], -others]), np.concatenate([[1.0], others])

    def hypervolume_bounds(self) -> Bounds:
        """The reference lies above the local fronts that most starts descend to."""
        return Bounds(ideal=(0.0, 0.0), reference=(1.1, 120.0))

    @staticmethod
    def evaluate(x: torch.Tensor, k: int) -> torch.Tensor:
        first, others = x[:, 0], x[:, 1:]
        g = 1.0 + (10.0 + others**2 - 10.0 * (4.0 * math.pi * others).cos()).sum(1)
        return _above_root_front(first, g)

    def pareto_front(self, seed: int) -> Points:
        return _root_front()


@register
class ZDT6(BoxProblem):
    """A concave front whose first objective has six valleys of different depth, and a steep way to it.

    The distance from the front is a fourth root, whose slope is unbounded where it is zero. The first objective is flat
    around its maxima, so that starts there hardly move, and its deepest valley is the narrowest to hit.
    """

    id = "zdt6@1"
    title = "ZDT6"
    formulas = (
        Formula(
            r"f_1 = 1 - e^{-4 x_1} \sin^6 6 \pi x_1, \quad f_2 = g \left(1 - (f_1 / g)^2\right)",
            "Objectives",
        ),
        Formula(
            r"g(x) = 1 + 9 \left(\frac{1}{n - 1} \sum_{i \ge 2} x_i\right)^{1/4}",
            "Distance from the front",
        ),
    )
    reference = ZITZLER
    pymoo = "zdt6"

    dimension: int = integer(10, low=2, meaning="number of parameters n")

    def hypervolume_bounds(self) -> Bounds:
        return Bounds(ideal=(0.28, 0.0), reference=(1.1, 1.1))

    @staticmethod
    def evaluate(x: torch.Tensor, k: int) -> torch.Tensor:
        first = 1.0 - (-4.0 * x[:, 0]).exp() * (6.0 * math.pi * x[:, 0]).sin() ** 6
        g = 1.0 + 9.0 * (x[:, 1:].sum(1) / (x.shape[1] - 1)) ** 0.25
        return torch.stack([first, g * (1.0 - (first / g) ** 2)], dim=1)

    def pareto_front(self, seed: int) -> Points:
        first = np.linspace(0.2807753191, 1.0, POINTS)
        return np.column_stack([first, 1.0 - first**2])
