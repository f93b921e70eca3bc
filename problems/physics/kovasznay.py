"""Kovasznay's flow behind a grid: the stationary Navier–Stokes equations with an exact solution."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from mobench.core.about import Formula
from mobench.core.registry import register

from .helmholtz import around
from .network import TanhNetwork
from .problem import CONFIG, Grid, PhysicsProblem, square

REYNOLDS = 40.0
DECAY = REYNOLDS / 2.0 - math.sqrt(REYNOLDS**2 / 4.0 + 4.0 * math.pi**2)


@register
class Kovasznay(PhysicsProblem):
    """Kovasznay's flow at Reynolds number 40 on [−½, 1] × [−½, 3/2].

    The network gives velocities u, v and the pressure p. There are two objectives: momentum in both directions and
    incompressibility inside, and the exact flow on the boundary.

    With λ = Re/2 − √(Re²/4 + 4π²),

        u = 1 − e^{λx} cos 2πy,   v = λ/2π · e^{λx} sin 2πy,   p = ½ (1 − e^{2λx}).
    """

    id = "kovasznay@1"
    title = "Kovasznay’s flow"
    formulas = (
        Formula(
            r"L_1 = {\lVert u u_x + v u_y + p_x - \Delta u / Re \rVert}^2 + {\lVert u v_x + v v_y + p_y "
            r"- \Delta v / Re \rVert}^2 + {\lVert u_x + v_y \rVert}^2",
            "Residual",
        ),
        Formula(r"L_2 = {\lVert (u, v, p) - (u, v, p)^* \rVert}^2 \text{ on the boundary}", "Boundary"),
    )
    reference = CONFIG
    low, high = (-0.5, -0.5), (1.0, 1.5)
    axes = ("x", "y")
    conditions = ("residual", "boundary")
    outputs = 3
    shown = "horizontal velocity u"

    def losses(self, network: TanhNetwork, inside: Tensor, edges: Sequence[Tensor]) -> list[Tensor]:
        flow = network.jet(inside)
        velocity, along_x, along_y = flow.value[..., :2], flow.first[0], flow.first[1]
        carried = velocity[..., :1] * along_x[..., :2] + velocity[..., 1:] * along_y[..., :2]
        pressure = torch.cat([along_x[..., 2:], along_y[..., 2:]], dim=-1)
        momentum = carried + pressure - (flow.second[0] + flow.second[1])[..., :2] / REYNOLDS
        residual = square(momentum[..., :1]) + square(momentum[..., 1:]) + square(along_x[..., :1] + along_y[..., 1:2])
        border = around(self.low, self.high, edges[0])
        wanted = torch.from_numpy(flow_at(border[..., 0].double().numpy(), border[..., 1].double().numpy())).float()
        return [residual, square(network(border) - wanted)]

    def solution(self, x: Grid, y: Grid) -> Grid:
        return flow_at(x, y)


def flow_at(x: Grid, y: Grid) -> Grid:
    """Return velocities and pressure at the points, as a last dimension."""
    wave, decay = 2.0 * np.pi * y, np.exp(DECAY * x)
    u, v = 1.0 - decay * np.cos(wave), DECAY / (2.0 * np.pi) * decay * np.sin(wave)
    return np.stack([u, v, 0.5 * (1.0 - decay * decay)], axis=-1)
