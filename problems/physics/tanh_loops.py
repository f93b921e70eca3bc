"""tanh of values and the chain rule of their derivatives as compiled loops over float32 or float64 numbers.

With v = tanh(z₀ + b), s = 1 − v² and, along each input, p and q the first and second derivative before it:

    ∂_i a = s p,       ∂_ii a = s q − 2 v s p².

Arrays are members × streams × numbers, the streams being value, two first and, if there are five, two second
derivatives. What passes back through this, for g, g', g'' the gradients by value and derivatives, is

    s (g − Σ_i [2 v (g'_i p_i + g''_i (q_i − 2 v p_i²)) + 2 s g''_i p_i²]),    s (g'_i − 4 v p_i g''_i),    s g''_i.

Each loop writes one array, so that it becomes vector instructions. A number's result does not depend on its place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mobench.core.machine_code import compiled

Array = npt.NDArray[Any]

WITH_SECOND = 5
"""Streams where second derivatives are carried along; three where they are not."""

# pragma: machine code, where coverage sees nothing


@compiled()
def forward(z: Array, a: Array, one: np.floating[Any]) -> None:
    """Write the derivatives behind tanh into `a`, whose first stream has the values already; `one` has their type."""
    for member in range(z.shape[0]):
        v = a[member, 0]
        for axis in range(2):
            p, first = z[member, 1 + axis], a[member, 1 + axis]
            for i in range(v.size):
                first[i] = (one - v[i] * v[i]) * p[i]
            if z.shape[1] == WITH_SECOND:
                q, second = z[member, 3 + axis], a[member, 3 + axis]
                for i in range(v.size):
                    second[i] = (one - v[i] * v[i]) * q[i] - (v[i] + v[i]) * first[i] * p[i]


@compiled()
def backward(z: Array, a: Array, given: Array, out: Array, one: np.floating[Any]) -> None:
    """Write the gradients by `z` into `out`, from those by `a`."""
    for member in range(z.shape[0]):
        v, g, down = a[member, 0], given[member, 0], out[member, 0]
        for i in range(v.size):
            down[i] = g[i]
        for axis in range(2):
            p, g_first, by_first = z[member, 1 + axis], given[member, 1 + axis], out[member, 1 + axis]
            if z.shape[1] == WITH_SECOND:
                q, g_second, by_second = z[member, 3 + axis], given[member, 3 + axis], out[member, 3 + axis]
                for i in range(v.size):
                    by_second[i] = (one - v[i] * v[i]) * g_second[i]
                for i in range(v.size):
                    twice = v[i] + v[i]
                    by_first[i] = (one - v[i] * v[i]) * (g_first[i] - (twice + twice) * p[i] * g_second[i])
                for i in range(v.size):
                    twice, slope, square = v[i] + v[i], one - v[i] * v[i], p[i] * p[i]
                    by_slope = g_first[i] * p[i] + g_second[i] * (q[i] - twice * square)
                    down[i] -= twice * by_slope + (slope + slope) * square * g_second[i]
            else:
                for i in range(v.size):
                    by_first[i] = (one - v[i] * v[i]) * g_first[i]
                for i in range(v.size):
                    down[i] -= (v[i] + v[i]) * g_first[i] * p[i]
        for i in range(v.size):
            down[i] *= one - v[i] * v[i]
