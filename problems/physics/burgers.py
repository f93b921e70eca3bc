"""Burgers' equation: a smooth wave that steepens into a shock."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor

from mobench.core.about import Formula
from mobench.core.registry import register

from .network import TanhNetwork
from .problem import RAISSI, Grid, PhysicsProblem, square

VISCOSITY = 0.01 / math.pi
NODES = 120
"""Of the Gauss–Hermite quadrature."""


@register
class Burgers(PhysicsProblem):
    """Burgers' equation on [−1, 1] × [0, 1], where a sine wave steepens into a shock at x = 0.

    There are three objectives: the equation inside, zero at both ends, and the wave at the start. A network meets the
    last two easily with a smooth function that is far from the solution, and the shock is where it shows.

    The solution to compare with is the Cole–Hopf integral by Gauss–Hermite quadrature with 120 nodes,

        u(x, t) = −∫ sin π(x−η) w(x, η) dη / ∫ w(x, η) dη,   w = exp(−cos π(x−η) / 2πν − η² / 4νt).
    """

    id = "burgers@1"
    title = "Burgers’ equation"
    formulas = (
        Formula(r"L_1 = {\lVert u_t + u u_x - \nu u_{xx} \rVert}^2, \quad \nu = 0.01 / \pi", "Residual"),
        Formula(r"L_2 = {\lVert u(\pm 1, t) \rVert}^2", "Boundary"),
        Formula(r"L_3 = {\lVert u(x, 0) + \sin \pi x \rVert}^2", "Initial state"),
    )
    reference = RAISSI
    low, high = (-1.0, 0.0), (1.0, 1.0)
    conditions = ("residual", "boundary", "initial")

    def losses(self, network: TanhNetwork, inside: Tensor, edges: Sequence[Tensor]) -> list[Tensor]:
        u = network.jet(inside)
        residual = u.first[1] + u.value * u.first[0] - VISCOSITY * u.second[0]
        along, start = edges[0], 2.0 * edges[1] - 1.0
        side = torch.ones_like(along)
        both = torch.cat([torch.cat([-side, along], dim=-1), torch.cat([side, along], dim=-1)], dim=-2)
        wave = network(torch.cat([start, torch.zeros_like(start)], dim=-1)) + torch.sin(math.pi * start)
        return [square(residual), square(network(both)), square(wave)]

    def solution(self, x: Grid, y: Grid) -> Grid:
        return cole_hopf(tuple(np.unique(x)), tuple(np.unique(y)))[..., None]


@cache
def cole_hopf(x: tuple[float, ...], t: tuple[float, ...]) -> Grid:
    """Return the solution on a grid, rows by time."""
    nodes, weights = np.polynomial.hermite.hermgauss(NODES)
    places, times = np.array(x)[None, :, None], np.array(t)[:, None, None]
    shifted = np.pi * (places - np.sqrt(4.0 * VISCOSITY * times) * nodes)
    exponent = -np.cos(shifted) / (2.0 * np.pi * VISCOSITY)
    share = weights * np.exp(exponent - exponent.max(axis=-1, keepdims=True))
    return -np.asarray((share * np.sin(shifted)).sum(-1) / share.sum(-1))
