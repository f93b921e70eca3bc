"""How exact and how fast the K×K solvers are, beside TorchJD's weightings, on one thread.

Accuracy: the direction error ‖d − d*‖/‖d*‖ against an independent solution in 60-digit arithmetic,
which takes the float64 Gram matrix as exact. Independent gradients have lengths from 1e-6 to 1e6.
Near-dependent ones are dependent up to an angle of 1 to 1e-6. `error / cond` divides by the condition
number of C, the Gram matrix of the unit gradients. TorchJD's error is a median, at the exact length,
on gradients whose lengths are within a factor of ten.

Speed: a solver is called 20 times in a row on a matrix, the peer once. TorchJD's PCD weighting also
normalises and rescales, which the solver does not; "PCD's QP" compares the programs alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import torch

from benchmarks.peers import solver_accuracy, solver_speed
from benchmarks.peers.row import Asked, Ratio, Row

PART = "solvers"
COMMAND = "make peers only=solvers"
EXACT, GROWTH, FASTER = Asked("≤", 1e-8), Asked("≤", 1e-15), Asked("≥", 10.0)
PROMISED = ("PCD", "MGDA", "CAGrad", "Nash")
"""The methods for which the ratio is asked."""


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    exact_cases: int
    """Gram matrices for each K and family."""
    peer_cases: int
    timed_cases: int
    ks: tuple[int, ...] = (2, 3, 8, 16)


SIZES = {"quick": Size(10, 3, 9), "default": Size(60, 10, 31), "all": Size(1000, 100, 101)}


def rows(size: Size) -> Iterator[Row]:
    """Yield speed, then accuracy, of every method that both sides have."""
    torch.set_num_threads(1)
    for k in size.ks:
        for speed in solver_speed.measure(k, size.timed_cases):
            asked = FASTER if speed.method in PROMISED else None
            own, other = median(speed.mobench), median(speed.torchjd)
            what = f"{speed.method} K={k}: {own:.0f} µs, TorchJD {other:,.0f} µs"
            yield Ratio.of(speed.torchjd, speed.mobench).row(PART, what, COMMAND, asked)
    for k in size.ks:
        found = solver_accuracy.measure(k, size.exact_cases, size.peer_cases)
        for accuracy in found:
            yield Row(PART, f"{accuracy.method} K={k}: largest error", accuracy.independent_error, "", COMMAND, EXACT)
            if accuracy.peer_similar is not None:
                yield Row(PART, f"{accuracy.method} K={k}: TorchJD's median error", accuracy.peer_similar, "", COMMAND)
        growth = max(accuracy.growth for accuracy in found)
        yield Row(PART, f"K={k}: largest error / cond(C)", growth, "", COMMAND, GROWTH)
