"""Small networks that train together: how many times faster a run's share of a step is than the same step alone.

Where there is a plain step of the network, a second row says how many of these the share costs. Since the digits
network's step alone is no longer bound by calls, neighbours save it little, and its first row misses what is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import threadpoolctl  # type: ignore[import-untyped]
import torch

from benchmarks.peers.row import Asked, Ratio, Row, interleaved
from benchmarks.tracked.kernels.step import BATCH, EQUATIONS, pcd_step, physics_step, plain_step

PART = "lockstep"
COMMAND = "make peers only=lockstep"
FASTER = Asked("≥", 1.5)
SHARES = {2: Asked("≤", 0.48), 3: Asked("≤", 0.64)}
"""By K, a digits run's share in plain steps: what it was when the networks' convolutions were grouped ones of torch."""


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
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        for runs in size.runs:
            largest = runs == max(size.runs)
            for k in size.ks:
                name = f"digits-cnn {BATCH} K={k}"
                calls = {"alone": pcd_step(k), "together": pcd_step(k, runs), "plain": plain_step(k)}
                seconds, shares = _measured(calls, runs, size.rounds)
                yield _gain(name, runs, seconds["alone"], shares, FASTER if largest else None)
                each = f"{name}, one of {runs} runs, in plain steps"
                yield Ratio.of(shares, seconds["plain"]).row(PART, each, COMMAND, SHARES.get(k) if largest else None)
            for equation in EQUATIONS:
                calls = {"alone": physics_step(equation), "together": physics_step(equation, runs)}
                seconds, shares = _measured(calls, runs, size.rounds)
                yield _gain(equation, runs, seconds["alone"], shares, FASTER if largest else None)


def _measured(
    calls: Mapping[str, Callable[[], object]], runs: int, rounds: int
) -> tuple[dict[str, list[float]], list[float]]:
    """Return the seconds of every call, and a run's share of those together."""
    seconds = interleaved(calls, rounds)
    return seconds, [value / runs for value in seconds["together"]]


def _gain(name: str, runs: int, alone: Sequence[float], shares: Sequence[float], asked: Asked | None) -> Row:
    what = f"{name}, {runs} runs: {1e3 * median(shares):.2f} ms each"
    return Ratio.of(alone, shares).row(PART, what, COMMAND, asked)
