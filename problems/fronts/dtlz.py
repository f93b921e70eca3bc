"""DTLZ1 to 7: any number of objectives, with fronts that are flat, spherical, a curve, or in pieces."""

from __future__ import annotations

import math

import numpy as np
import torch

from mobench.core.about import Formula
from mobench.core.problem import Bounds
from mobench.core.registry import register
from mobench.core.settings import integer
from mobench.errors import UserError

from .box import DEB, BoxProblem, Points

_SPHERE = Formula(
    r"f_i = (1 + g) \sin \frac{\pi \theta_{K-i+1}}{2} \prod_{j \le K-i} \cos \frac{\pi \theta_j}{2}, "
    r"\quad i \ge 2; \quad f_1 = (1 + g) \prod_{j < K} \cos \frac{\pi \theta_j}{2}",
    "Objectives",
)
_SQUARES = Formula(r"g(x) = \sum_{i \ge K} \left(x_i - \tfrac{1}{2}\right)^2", "Distance from the front")
_WAVES = Formula(
    r"g(x) = 100 \sum_{i \ge K} \left(1 + \left(x_i - \tfrac{1}{2}\right)^2 "
    r"- \cos 20 \pi \left(x_i - \tfrac{1}{2}\right)\right)",
    "Distance from the front, with many local minima",
)


class DTLZ(BoxProblem):
    """K objectives: K − 1 coordinates say where on the front, the others how far from it."""

    dimension: int = integer(10, low=2, meaning="number of parameters n")
    k: int = integer(3, low=2, high=8, meaning="number of objectives K")

    def __init__(self, **values: object) -> None:
        super().__init__(**values)
        if self.dimension < self.k:
            raise UserError(
                f"{self.label()}.dimension={self.dimension} is not accepted with k={self.k}; it takes a number from k"
            )

    def objectives(self) -> tuple[str, ...]:
        return tuple(f"f{i}" for i in range(1, self.k + 1))

    def directions(self) -> Points:
        """Return directions that cover the positive orthant evenly."""
        partitions = {2: 99, 3: 19, 4: 10, 5: 7, 6: 6, 7: 5, 8: 5}[self.k]
        from pymoo.util.ref_dirs import get_reference_directions  # a second of imports that only training needs

        return np.asarray(get_reference_directions("das-dennis", self.k, n_partitions=partitions), dtype=np.float64)

    def sphere(self) -> Points:
        """Return points of the unit sphere in the positive orthant."""
        directions = self.directions()
        return np.asarray(directions / np.linalg.norm(directions, axis=1, keepdims=True))

    def curve(self) -> Points:
        """Return the front of DTLZ5 and 6: every angle but the first is π/4."""
        theta = np.full((200, self.k - 1), 0.5)
        theta[:, 0] = np.linspace(0.0, 1.0, 200)
        return on_sphere(torch.from_numpy(theta), torch.zeros(200, dtype=torch.float64)).numpy()


def waves(others: torch.Tensor) -> torch.Tensor:
    """Return 100 Σ (1 + (x − ½)² − cos 20π(x − ½))."""
    offset = others - 0.5
    return 100.0 * (1.0 + offset**2 - (20.0 * math.pi * offset).cos()).sum(1)


def squares(others: torch.Tensor) -> torch.Tensor:
    """Return Σ (x − ½)²."""
    return ((others - 0.5) ** 2).sum(1)


def _products(factors: torch.Tensor, last: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
    """Return (1 + g) Π_{j ≤ K−i} factors_j · last_{K−i+1} for i = 1 … K, where objective 1 has no last factor."""
    found, count = [], factors.shape[1]
    for i in range(count + 1):
        value = 1.0 + g
        for j in range(count - i):
            value = value * factors[:, j]
        found.append(value * last[:, count - i] if i else value)
    return torch.stack(found, dim=1)


def on_sphere(theta: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
    """Return the point of the sphere of radius 1 + g at the angles ½π theta."""
    angle = 0.5 * math.pi * theta
    return _products(angle.cos(), angle.sin(), g)


def bent(where: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
    """Return the angles of DTLZ5 and 6, all but the first drawn to ½ near the front."""
    drawn = (1.0 + 2.0 * g[:, None] * where[:, 1:]) / (2.0 * (1.0 + g[:, None]))
    return torch.cat([where[:, :1], drawn], dim=1)


@register
class DTLZ1(DTLZ):
    """A flat front Σ f_i = ½ behind many local ones.

    The first K − 1 coordinates say where on the front a point lies, the others how far it is from the front. That
    distance is a bowl with waves, and a method that only descends ends in one of its many local minima.
    """

    id = "dtlz1@1"
    title = "DTLZ1"
    formulas = (
        Formula(r"f_i = \frac{1 + g}{2} (1 - x_{K-i+1}) \prod_{j \le K-i} x_j", "Objectives"),
        _WAVES,
    )
    reference = DEB
    pymoo = "dtlz1"

    dimension: int = integer(7, low=2, meaning="number of parameters n")

    def hypervolume_bounds(self) -> Bounds:
        """The reference lies above the local fronts that most starts descend to."""
        return Bounds(ideal=(0.0,) * self.k, reference=(60.0,) * self.k)

    @staticmethod
    def evaluate(x: torch.Tensor, k: int) -> torch.Tensor:
        where = x[:, : k - 1]
        return 0.5 * _products(where, 1.0 - where, waves(x[:, k - 1 :]))

    def pareto_front(self, seed: int) -> Points:
        return 0.5 * self.directions()


@register
class DTLZ2(DTLZ):
    """A spherical front Σ f_i² = 1, and a bowl as the way to it.

    The first K − 1 coordinates are angles on the sphere, the others make its radius. The front is concave: a weighted
    sum has its minima at the ends of it, where all objectives but one are zero.
    """

    id = "dtlz2@1"
    title = "DTLZ2"
    formulas = (_SPHERE, Formula(r"\theta_j = x_j", "Angles"), _SQUARES)
    reference = DEB
    pymoo = "dtlz2"

    def hypervolume_bounds(self) -> Bounds:
        return Bounds(ideal=(0.0,) * self.k, reference=(1.1,) * self.k)

    @staticmethod
    def evaluate(x: torch.Tensor, k: int) -> torch.Tensor:
        return on_sphere(x[:, : k - 1], squares(x[:, k - 1 :]))

    def pareto_front(self, seed: int) -> Points:
        return self.sphere()


@register
class DTLZ3(DTLZ):
    """The spherical front of DTLZ2 behind many local ones.

    The radius of the sphere is no bowl here but a bowl with waves, as in the first problem of the collection. A method
    that only descends ends on the sphere of the local minimum that lies below its start.
    """

    id = "dtlz3@1"
    title = "DTLZ3"
    formulas = (_SPHERE, Formula(r"\theta_j = x_j", "Angles"), _WAVES)
    reference = DEB
    pymoo = "dtlz3"

    def hypervolume_bounds(self) -> Bounds:
        """The reference lies above the local fronts that most starts descend to."""
        return Bounds(ideal=(0.0,) * self.k, reference=(150.0,) * self.k)

    @staticmethod
    def evaluate(x: torch.Tensor, k: int) -> torch.Tensor:
        return on_sphere(x[:, : k - 1], waves(x[:, k - 1 :]))

    def pareto_front(self, seed: int) -> Points:
        return self.sphere()


@register
class DTLZ4(DTLZ):
    """The spherical front of DTLZ2, where almost all points have angles near zero.

    The angles are the hundredth powers of the coordinates. Their slope vanishes but for a thin layer at one face of the
    box, so that gradients say nothing about the place on the front from almost every start.
    """

    id = "dtlz4@1"
    title = "DTLZ4"
    formulas = (_SPHERE, Formula(r"\theta_j = x_j^{100}", "Angles"), _SQUARES)
    reference = DEB
    pymoo = "dtlz4"

    def hypervolume_bounds(self) -> Bounds:
        return Bounds(ideal=(0.0,) * self.k, reference=(1.1,) * self.k)

    @staticmethod
    def evaluate(x: torch.Tensor, k: int) -> torch.Tensor:
        return on_sphere(x[:, : k - 1] ** 100, squares(x[:, k - 1 :]))

    def pareto_front(self, seed: int) -> Points:
        return self.sphere()


_BENT = Formula(
    r"\theta_1 = x_1, \quad \theta_j = \frac{1 + 2 g x_j}{2 (1 + g)}, \quad j \ge 2",
    "Angles",
)


@register
class DTLZ5(DTLZ):
    """A front that is only a curve: all angles but one are fixed there.

    Away from the front the angles can be chosen, and near it all but the first are drawn to 45 degrees. Objectives
    that conflict far away agree on the front, which has fewer dimensions than there are objectives.
    """

    id = "dtlz5@1"
    title = "DTLZ5"
    formulas = (_SPHERE, _BENT, _SQUARES)
    reference = DEB
    pymoo = "dtlz5"

    def hypervolume_bounds(self) -> Bounds:
        return Bounds(ideal=(0.0,) * self.k, reference=(1.1,) * self.k)

    @staticmethod
    def evaluate(x: torch.Tensor, k: int) -> torch.Tensor:
        g = squares(x[:, k - 1 :])
        return on_sphere(bent(x[:, : k - 1], g), g)

    def pareto_front(self, seed: int) -> Points:
        return self.curve()


@register
class DTLZ6(DTLZ):
    """The curve of DTLZ5 with a tenth root as the way to it.

    The root is almost flat away from the front and infinitely steep at it, which lies on faces of the box. Zero is
    replaced by 1e-30 there, where the slope is a number and the distance from the front 0.001 for each coordinate.
    """

    id = "dtlz6@1"
    title = "DTLZ6"
    formulas = (_SPHERE, _BENT, Formula(r"g(x) = \sum_{i \ge K} x_i^{0.1}", "Distance from the front"))
    reference = DEB
    pymoo = "dtlz6"

    def hypervolume_bounds(self) -> Bounds:
        return Bounds(ideal=(0.0,) * self.k, reference=(1.1,) * self.k)

    @staticmethod
    def evaluate(x: torch.Tensor, k: int) -> torch.Tensor:
        g = (x[:, k - 1 :] ** 0.1).sum(1)
        return on_sphere(bent(x[:, : k - 1], g), g)

    def pareto_front(self, seed: int) -> Points:
        return self.curve()


@register
class DTLZ7(DTLZ):
    """A front in 2^(K−1) pieces.

    The first K − 1 objectives are coordinates, and the last one has a wave in each of them. The other coordinates say
    how far a point is from the front. Which piece is reached depends on the start alone if a method only descends.
    """

    id = "dtlz7@1"
    title = "DTLZ7"
    formulas = (
        Formula(
            r"f_i = x_i, \quad i < K; \quad f_K = (1 + g) K - \sum_{i < K} f_i \left(1 + \sin 3 \pi f_i\right)",
            "Objectives",
        ),
        Formula(
            r"g(x) = 1 + \frac{9}{n - K + 1} \sum_{i \ge K} x_i",
            "Distance from the front, where g = 1",
        ),
    )
    reference = DEB
    pymoo = "dtlz7"

    def lower_bounds(self, seed: int) -> tuple[float, ...]:
        return (*(0.0,) * (self.k - 1), 2.0)

    def hypervolume_bounds(self) -> Bounds:
        """The last objective lies between 2K − 1.693 (K − 1) and 2K on the front."""
        return Bounds(ideal=(*(0.0,) * (self.k - 1), 2.0), reference=(*(1.0,) * (self.k - 1), 2.0 * self.k + 0.5))

    @staticmethod
    def evaluate(x: torch.Tensor, k: int) -> torch.Tensor:
        first, others = x[:, : k - 1], x[:, k - 1 :]
        g = 1.0 + 9.0 / others.shape[1] * others.sum(1)
        last = (1.0 + g) * k - (first * (1.0 + (3.0 * math.pi * first).sin())).sum(1)
        return torch.cat([first, last[:, None]], dim=1)

    def pareto_front(self, seed: int) -> Points:
        """Return the product of what is not dominated along each coordinate: the last objective is a sum over them."""
        first = np.linspace(0.0, 1.0, 200_001)
        gain = first * (1.0 + np.sin(3.0 * np.pi * first))
        record = np.concatenate([[True], gain[1:] > np.maximum.accumulate(gain)[:-1]])
        kept = first[record]
        kept = kept[np.linspace(0, len(kept) - 1, max(3, round(600 ** (1.0 / (self.k - 1))))).round().astype(int)]
        grid = np.stack(np.meshgrid(*[kept] * (self.k - 1), indexing="ij"), axis=-1).reshape(-1, self.k - 1)
        return np.column_stack([grid, 2.0 * self.k - (grid * (1.0 + np.sin(3.0 * np.pi * grid))).sum(1)])
