"""PCGrad: project conflicting gradients off each other, then sum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from mobench.core.about import Formula, Look, Reference
from mobench.core.method import Matrix, Method, Step, Vector
from mobench.core.registry import register
from mobench.solvers import surgery
from mobench.solvers.gradient_surgery import surgeries


@register
class PCGrad(Method):
    """Gradient surgery: project conflicting gradients off each other, then sum.

    Each gradient is projected off every other gradient it conflicts with, one after another in random
    order, and the results are summed. Two gradients conflict if their inner product is negative.
    Without conflict it is the plain sum of the gradients. It has no knob.

    For every i, starting from g_i' = g_i and for each j ≠ i in random order,

        g_i' ← g_i' − (g_i'·g_j / ‖g_j‖²) g_j    where g_i'·g_j < 0,        d = Σ_i g_i'.

    The order is drawn anew at every step and separately for every i, from the run's own stream. A
    zero gradient conflicts with nothing. With two objectives there is only one order and nothing is
    drawn.

    Scale: a sum, not a mean. Without conflict d = Σ_i g_i, K times the mean gradient; with one
    objective d = g_1.
    """

    title = "PCGrad"
    formulas = (
        Formula(
            r"g_i^{\prime} \leftarrow g_i^{\prime} - \frac{g_i^{\prime} \cdot g_j}{{\lVert g_j \rVert}^2}\, g_j \quad "
            r"\text{where} \quad g_i^{\prime} \cdot g_j < 0",
            "For every i, starting from its own gradient, for each j ≠ i",
        ),
        Formula(r"d = \sum_i g_i^{\prime}", "The direction"),
    )
    reference = Reference(
        "T. Yu, S. Kumar, A. Gupta, S. Levine, K. Hausman and C. Finn",
        "Gradient Surgery for Multi-Task Learning",
        "NeurIPS",
        2020,
        "https://arxiv.org/abs/2001.06782",
    )
    look = Look("#78334A", "#954F62", "D")
    verified = "TorchJD 0.18 to 1e-15 for K = 2"
    lacks: ClassVar = {
        "scale-invariant direction": "projected gradients are added with their lengths",
        "no objective ascends": "a later projection may undo an earlier one",
    }

    def weights(self, step: Step) -> Vector:
        return surgery(step.gram, random_orders([self.rng], step.k)[0].tolist())

    @staticmethod
    def weights_of_all(methods: Sequence[PCGrad], steps: Sequence[Step]) -> Matrix:
        grams, streams, k = np.array([step.gram for step in steps]), [method.rng for method in methods], steps[0].k
        return surgeries(grams, orders_of_three(streams) if k == 3 else random_orders(streams, k))


def random_orders(streams: Sequence[np.random.Generator], k: int) -> npt.NDArray[np.int64]:
    """Return, for each stream and for every i, a uniformly random order of the other objectives."""
    if k <= 2:
        return np.arange(k)[::-1].reshape(1, k, 1)[:, :, : k - 1].repeat(len(streams), axis=0)
    keys = np.empty((len(streams), k, k))
    for stream, own in zip(streams, keys, strict=True):
        stream.random(out=own)
    keys.reshape(-1, k * k)[:, :: k + 1] = 2.0  # above every other key: i itself is sorted last, and cut off
    return keys.argsort(axis=2)[:, :, :-1]


def orders_of_three(streams: Sequence[np.random.Generator]) -> list[tuple[tuple[int, int], ...]]:
    """Return `random_orders` for K = 3 as lists, which take half as long for a few streams."""
    orders: list[tuple[tuple[int, int], ...]] = []
    for stream in streams:
        (_, ab, ac), (ba, _, bc), (ca, cb, _) = stream.random((3, 3)).tolist()
        orders.append(((1, 2) if ab <= ac else (2, 1), (0, 2) if ba <= bc else (2, 0), (0, 1) if ca <= cb else (1, 0)))
    return orders
