"""How fast a device computes: measured where it is here, assumed where it is not."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from mobench.core.resources import resources
from mobench.core.threads import one_thread

SIDE = 256
"""Rows of the matrix whose eigen-decomposition is timed."""
REPEATS = 3


@dataclass(frozen=True)
class Speed:
    """What an estimate of time is made of."""

    convolution: float
    """FLOP/s of convolutions in float32, forward and backward."""
    product: float
    """FLOP/s of matrix products in float64."""
    eigen: float
    """Seconds of an eigen-decomposition of `SIDE` rows in float64."""
    measured: bool
    """Whether it was measured here."""

    def seconds_of_eigen(self, side: int) -> float:
        """Return the seconds of an eigen-decomposition, which grow with the cube of the side."""
        return self.eigen * (side / SIDE) ** 3

    def __str__(self) -> str:
        way = "measured here" if self.measured else "assumed, not measured"
        eigen = f"an eigen-decomposition of {SIDE} rows in {1e3 * self.eigen:.3g} ms"
        return f"{self.convolution / 1e9:,.0f} GFLOP/s in convolutions, {eigen} ({way})"


ASSUMED = {"cpu": Speed(1e11, 2e10, 1.2e-2, False), "cuda": Speed(1.5e13, 5e12, 6e-3, False)}
"""One core of a current CPU, and one data-centre GPU."""


def speed_of(kind: str) -> Speed:
    """Return the speed of `cpu` (one thread) or `cuda`: measured if that is the device of this process."""
    here = resources().torch_device
    return measured_speed(here) if here.partition(":")[0] == kind else ASSUMED[kind]


@cache
@one_thread()
def measured_speed(device: str) -> Speed:
    """Time a convolution, a product and an eigen-decomposition on `device`, each as the fastest of a few."""
    import torch

    batch, channels, side = (8 if device == "cpu" else 128), 64, 32
    images = torch.randn(batch, channels, side, side, device=device).to(memory_format=torch.channels_last)
    layer = torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False, device=device)
    layer.to(memory_format=torch.channels_last)
    images.requires_grad_()
    square = torch.randn(SIDE, SIDE, dtype=torch.float64, device=device)
    symmetric = square @ square.T
    passes = 3 * 2 * batch * channels * channels * 9 * side * side
    return Speed(
        convolution=passes / fastest(lambda: layer(images).sum().backward(), device),
        product=2 * SIDE**3 / fastest(lambda: square @ square, device),
        eigen=fastest(lambda: torch.linalg.eigh(symmetric), device),
        measured=True,
    )


def fastest(work: Callable[[], object], device: str) -> float:
    """Return the seconds of the fastest of a few calls, after one that is not timed."""
    import torch

    def finished() -> float:
        if device != "cpu":
            torch.cuda.synchronize(device)
        return time.perf_counter()

    work()
    found = []
    for _ in range(REPEATS):
        started = finished()
        work()
        found.append(finished() - started)
    return min(found)
