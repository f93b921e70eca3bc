"""Helmholtz' equation with a manufactured solution."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from mobench.core.about import Formula, Reference
from mobench.core.registry import register

from .network import TanhNetwork
from .problem import Grid, PhysicsProblem, square

WAVES = (1.0, 4.0)
"""Half waves on a unit, across and up."""


@register
class Helmholtz(PhysicsProblem):
    """Helmholtz' equation on [−1, 1]² with the solution u = sin πx · sin 4πy, and zero on the boundary.

    There are two objectives: the equation inside, and zero on the boundary. The source q is what the solution leaves in
    the equation. The residual's gradient outweighs the boundary's by far.
    """

    id = "helmholtz@1"
    title = "Helmholtz’ equation"
    formulas = (
        Formula(
            r"L_1 = {\lVert u_{xx} + u_{yy} + u - q \rVert}^2, \quad q = (1 - 17 \pi^2) \sin \pi x \sin 4 \pi y",
            "Residual",
        ),
        Formula(r"L_2 = {\lVert u \rVert}^2 \text{ on the boundary}", "Boundary"),
    )
    reference = Reference(
        "S. Wang, Y. Teng and P. Perdikaris",
        "Understanding and mitigating gradient flow pathologies in physics-informed neural networks",
        "SIAM Journal on Scientific Computing 43(5)",
        2021,
        "https://doi.org/10.1137/20M1318043",
    )
    low, high = (-1.0, -1.0), (1.0, 1.0)
    axes = ("x", "y")
    conditions = ("residual", "boundary")

    def losses(self, network: TanhNetwork, inside: Tensor, edges: Sequence[Tensor]) -> list[Tensor]:
        u = network.jet(inside)
        a, b = (math.pi * wave for wave in WAVES)
        wanted = torch.sin(a * inside[..., :1]) * torch.sin(b * inside[..., 1:])
        residual = u.second[0] + u.second[1] + u.value - (1.0 - a * a - b * b) * wanted
        return [square(residual), square(network(around(self.low, self.high, edges[0])))]

    def solution(self, x: Grid, y: Grid) -> Grid:
        a, b = (math.pi * wave for wave in WAVES)
        return (np.sin(a * x) * np.sin(b * y))[..., None]


def around(low: tuple[float, float], high: tuple[float, float], along: Tensor) -> Tensor:
    """Return points on the four edges of a rectangle, each number in [0, 1) on all of them."""
    x, y = (low[axis] + (high[axis] - low[axis]) * along for axis in (0, 1))
    sides = [(x, torch.full_like(x, low[1])), (x, torch.full_like(x, high[1]))]
    sides += [(torch.full_like(y, low[0]), y), (torch.full_like(y, high[0]), y)]
    return torch.cat([torch.cat(pair, dim=-1) for pair in sides], dim=-2)
