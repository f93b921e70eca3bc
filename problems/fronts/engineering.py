"""Two engineering problems of the RE collection: a truss, and a rocket injector."""

from __future__ import annotations

import math

import numpy as np
import torch

from mobench.core.about import Formula
from mobench.core.problem import Bounds
from mobench.core.registry import register
from mobench.core.settings import integer

from .box import TANABE, BoxProblem, Points

FORCE, MODULUS, LENGTH = 10.0, 2e5, 200.0
"""Of the truss: kN, kN/cm², cm; the stress of 10 kN/cm² makes the smallest section 1 cm²."""

INJECTOR = (
    "0.692 + 0.477a - 0.687b - 0.08c - 0.065d - 0.167aa - 0.0129ab + 0.0796bb - 0.0634ac - 0.0257bc + 0.0877cc "
    "- 0.0521ad + 0.00156bd + 0.00198cd + 0.0184dd",
    "0.153 - 0.322a + 0.396b + 0.424c + 0.0226d + 0.175aa + 0.0185ab - 0.0701bb - 0.251ac + 0.179bc + 0.015cc "
    "+ 0.0134ad + 0.0296bd + 0.0752cd + 0.0192dd",
    "0.37 - 0.205a + 0.0307b + 0.108c + 1.019d - 0.135aa + 0.0141ab + 0.0998bb + 0.208ac - 0.0301bc - 0.226cc "
    "+ 0.353ad - 0.0497cd - 0.423dd + 0.202aab - 0.281aac - 0.342abb - 0.245bbc + 0.281bcc - 0.184add - 0.281abc",
)
"""The response surfaces of the injector as sums of monomials."""


def monomials(text: str) -> tuple[list[float], list[list[int]]]:
    """Return the factors of the monomials, and the positions of their three variables; position 4 holds a one."""
    factors, variables = [], []
    for term in (part.strip() for part in text.replace("- ", "+ -").split("+ ") if part.strip()):
        letters = "".join(character for character in term if character.isalpha())
        factors.append(float(term.removesuffix(letters)))
        variables.append([*("abcd".index(letter) for letter in letters), 4, 4, 4][:3])
    return factors, [list(column) for column in zip(*variables, strict=True)]


SURFACES = tuple(map(monomials, INJECTOR))


@register
class RE21(BoxProblem):
    """A truss of four bars: its volume against the displacement of its joint.

    The sections of the bars lie between what the admissible stress demands and three times the smallest of it. Thick
    bars are heavy and thin ones give way, except one of them, which is best as thin as it may be.
    """

    id = "re21@1"
    title = "RE21, a four bar truss"
    formulas = (
        Formula(r"f_1 = L \left(2 x_1 + \sqrt{2} x_2 + \sqrt{x_3} + x_4\right)", "Volume"),
        Formula(
            r"f_2 = \frac{F L}{E} \left(\frac{2}{x_1} + \frac{2 \sqrt{2}}{x_2} - \frac{2 \sqrt{2}}{x_3} "
            r"+ \frac{2}{x_4}\right)",
            "Displacement",
        ),
    )
    reference = TANABE

    dimension: int = integer(4, low=4, high=4, meaning="number of parameters n")

    def box(self) -> tuple[Points, Points]:
        root = math.sqrt(2.0)
        return np.array([1.0, root, root, 1.0]), np.full(4, 3.0)

    def hypervolume_bounds(self) -> Bounds:
        return Bounds(ideal=(1200.0, 0.0), reference=(3000.0, 0.045))

    @staticmethod
    def evaluate(x: torch.Tensor, k: int) -> torch.Tensor:
        root = math.sqrt(2.0)
        volume = LENGTH * (2.0 * x[:, 0] + root * x[:, 1] + x[:, 2].sqrt() + x[:, 3])
        bars = 2.0 / x[:, 0] + 2.0 * root / x[:, 1] - 2.0 * root / x[:, 2] + 2.0 / x[:, 3]
        return torch.stack([volume, FORCE * LENGTH / MODULUS * bars], dim=1)

    def pareto_front(self, seed: int) -> Points:
        """Return the minimisers of f_1 + λ f_2, which falls apart into the four sections.

        x_3 is at its lower bound, where both objectives are smallest. f_1 and f_2 are convex in the others, and
        a x + b/x has its minimum at √(b/a).
        """
        low, high = self.box()
        price = np.geomspace(0.5, 20.0, 800)[:, None]  # λ F / E
        slopes, pulls = np.array([2.0, math.sqrt(2.0), 1.0]), np.array([2.0, 2.0 * math.sqrt(2.0), 2.0])
        sections = np.clip(np.sqrt(price * pulls / slopes), low[[0, 1, 3]], high[[0, 1, 3]])
        x = np.insert(sections, 2, low[2], axis=1)
        values = self.evaluate(torch.from_numpy(x), 2).numpy()
        return np.unique(values, axis=0)


@register
class RE37(BoxProblem):
    """A rocket injector: two temperatures and the length of the flame, as polynomials fitted to simulations.

    The four coordinates are flow angle, changes of the hydrogen and oxygen areas, and tip thickness, all scaled to the
    unit interval. No front is stated: the surfaces are not convex.
    """

    id = "re37@1"
    title = "RE37, a rocket injector"
    formulas = (
        Formula(
            r"f_i(x) = \sum_m c_{im}\, x_1^{\alpha_m} x_2^{\beta_m} x_3^{\gamma_m} x_4^{\delta_m}, "
            r"\quad \alpha_m + \beta_m + \gamma_m + \delta_m \le 3",
            "All three objectives are polynomials, of degree two or three",
        ),
    )
    reference = TANABE

    dimension: int = integer(4, low=4, high=4, meaning="number of parameters n")

    def objectives(self) -> tuple[str, ...]:
        return ("f1", "f2", "f3")

    def lower_bounds(self, seed: int) -> tuple[float, ...]:
        return (-math.inf,) * 3

    def hypervolume_bounds(self) -> Bounds:
        return Bounds(ideal=(0.0, 0.0, -0.45), reference=(1.0, 1.0, 1.0))

    @staticmethod
    def evaluate(x: torch.Tensor, k: int) -> torch.Tensor:
        with_one = torch.cat([x, torch.ones_like(x[:, :1])], dim=1)
        values = []
        for factors, variables in SURFACES:
            products = with_one[:, variables[0]] * with_one[:, variables[1]] * with_one[:, variables[2]]
            values.append((products * torch.tensor(factors, dtype=x.dtype)).sum(1))
        return torch.stack(values, dim=1)
