"""The nonlinear Schrödinger equation: two solitons that breathe."""

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

MODES = 400
STEPS = 4000


@register
class Schroedinger(PhysicsProblem):
    """The nonlinear Schrödinger equation on [−5, 5] × [0, π/2], periodic in x, from h = 2 sech x.

    The network gives the real and the imaginary part of h. Three objectives: the equation inside, equal values and
    slopes at both ends, and the start. The solution to compare with is computed by Strang's splitting with 400 Fourier
    modes and 4,000 time steps; |h| is drawn.
    """

    id = "schroedinger@1"
    title = "Schrödinger’s equation"
    formulas = (
        Formula(r"L_1 = {\left\lVert i h_t + \tfrac{1}{2} h_{xx} + {\lvert h \rvert}^2 h \right\rVert}^2", "Residual"),
        Formula(
            r"L_2 = {\lVert h(-5, t) - h(5, t) \rVert}^2 + {\lVert h_x(-5, t) - h_x(5, t) \rVert}^2",
            "Boundary",
        ),
        Formula(r"L_3 = {\lVert h(x, 0) - 2\,\text{sech}\,x \rVert}^2", "Initial state"),
    )
    reference = RAISSI
    low, high = (-5.0, 0.0), (5.0, math.pi / 2.0)
    conditions = ("residual", "boundary", "initial")
    outputs = 2
    shown = "|h|"

    def losses(self, network: TanhNetwork, inside: Tensor, edges: Sequence[Tensor]) -> list[Tensor]:
        h = network.jet(inside)
        power = (h.value * h.value).sum(-1, keepdim=True)
        still = 0.5 * h.second[0] + power * h.value
        turned = torch.cat([-h.first[1][..., 1:], h.first[1][..., :1]], dim=-1)  # i h_t
        along, start = self.high[1] * edges[0], 10.0 * edges[1] - 5.0
        side = torch.full_like(along, 5.0)
        left, right = (network.jet(torch.cat([end, along], dim=-1), second=False) for end in (-side, side))
        found = network(torch.cat([start, torch.zeros_like(start)], dim=-1))
        wanted = torch.cat([2.0 / torch.cosh(start), torch.zeros_like(start)], dim=-1)
        boundary = square(left.value - right.value) + square(left.first[0] - right.first[0])
        return [2.0 * square(turned + still), 2.0 * boundary, 2.0 * square(found - wanted)]

    def drawn(self, outputs: Grid) -> Grid:
        return np.asarray(np.hypot(outputs[..., 0], outputs[..., 1]))

    def solution(self, x: Grid, y: Grid) -> Grid:
        h = split_step(tuple(np.unique(y)))
        places = np.linspace(-5.0, 5.0, MODES, endpoint=False)
        columns = np.unique(x)
        parts = [np.stack([np.interp(columns, places, row, period=10.0) for row in part]) for part in (h.real, h.imag)]
        return np.stack(parts, axis=-1)


@cache
def split_step(times: tuple[float, ...], half_width: float = 5.0, modes: int = MODES, steps: int = STEPS) -> Grid:
    """Return h at the given times (rows), which must be equally spaced from 0, on a periodic grid.

    Strang: half a step of h_t = i |h|² h, a step of h_t = ½ i h_xx in Fourier space, and another half.
    """
    x = np.linspace(-half_width, half_width, modes, endpoint=False)
    frequency = 2.0 * np.pi * np.fft.fftfreq(modes, d=2.0 * half_width / modes)
    between = -(-steps // (len(times) - 1))
    dt = (times[1] - times[0]) / between
    spread = np.exp(-0.5j * frequency**2 * dt)
    h = 2.0 / np.cosh(x) + 0j
    found = [h]
    for _ in times[1:]:
        for _ in range(between):
            h = h * np.exp(0.5j * dt * np.abs(h) ** 2)
            h = np.fft.ifft(spread * np.fft.fft(h))
            h = h * np.exp(0.5j * dt * np.abs(h) ** 2)
        found.append(h)
    return np.stack(found)
