"""Small networks that train as one: how many times faster a run's share of a step is than the same step alone.

Where there is a plain step of the network, a second row says how many of these the share costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median

import torch

from benchmarks.peers.row import Asked, Ratio, Row, interleaved
from benchmarks.tracked.kernels.step import BATCH, EQUATIONS, pcd_step, physics_step, plain_step

PART = "lockstep"
COMMAND = "make peers only=lockstep"
FASTER = Asked("≥", 1.5)


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    rounds: int
    runs: tuple[int, ...] = (16,)
    ks: tuple[int, ...] = (2, 3)


SIZES = {"quick": Size(5), "default": Size(21), "all": Size(101, (4, 16))}


def rows(size: Size) -> Iterator[Row]:
    """Yield how much a run gains by its neighbours, on one thread as in a worker."""
    torch.set_num_threads(1)
    steps = {f"digits-cnn {BATCH} K={k}": partial(pcd_step, k) for k in size.ks}
    plain = {f"digits-cnn {BATCH} K={k}": {"plain": plain_step(k)} for k in size.ks}
    steps |= {equation: partial(physics_step, equation) for equation in EQUATIONS}
    for name, step in steps.items():
        for runs in size.runs:
            calls = {"alone": step(), "together": step(runs), **plain.get(name, {})}
            seconds = interleaved(calls, size.rounds)
            shares = [value / runs for value in seconds["together"]]
            what = f"{name}, {runs} runs: {1e3 * median(shares):.2f} ms each"
            asked = FASTER if runs == max(size.runs) else None
            yield Ratio.of(seconds["alone"], shares).row(PART, what, COMMAND, asked)
            if name in plain:
                each = f"{name}, one of {runs} runs, in plain steps"
                yield Ratio.of(shares, seconds["plain"]).row(PART, each, COMMAND)
