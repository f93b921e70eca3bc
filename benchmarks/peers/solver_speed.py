"""Interleaved timings of the solvers and of TorchJD's weightings, on one thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from benchmarks.peers import torchjd_weightings
from mobench import solvers
from tests.solvers.gradients import independent

CALLS = 20
"""Calls of a solver per timing, as one is too short for the clock; the peer is called once."""


@dataclass(frozen=True)
class Speed:
    """Microseconds per call of one method at one K, a pair for every Gram matrix."""

    method: str
    k: int
    mobench: list[float]
    torchjd: list[float]


def ours(k: int) -> dict[str, Callable[[Any], object]]:
    rng = np.random.default_rng(0)
    powers = np.ones(k)

    def operate(gram: Any) -> object:
        keys = rng.random((k, k))
        np.fill_diagonal(keys, 2.0)
        return solvers.surgery(gram, keys.argsort(axis=1)[:, :-1].tolist())

    return {
        "PCD": lambda gram: solvers.project_primary(gram, 0.02),
        "PCD's QP": lambda gram: solvers.project_primary(gram, 0.02),
        "MGDA": solvers.min_norm_point,
        "CAGrad": lambda gram: solvers.conflict_averse(gram, 0.4),
        "Nash": lambda gram: solvers.nash_bargain(gram, powers),
        "PCGrad": operate,
    }


def microseconds(call: Callable[[Any], object], argument: Any, calls: int) -> float:
    start = time.perf_counter_ns()
    for _ in range(calls):
        call(argument)
    return (time.perf_counter_ns() - start) / calls / 1000.0


def measure(k: int, cases: int) -> Iterator[Speed]:
    """Time both sides in turn on the same matrices, with gradient lengths within a factor of ten."""
    rng = np.random.default_rng(k)
    grams = [independent(rng, k, decades=0.5).gram for _ in range(cases)]
    peers = torchjd_weightings.on_tensors(k)
    for name, solver in ours(k).items():
        found = Speed(name, k, [], [])
        for case, gram in enumerate(grams):
            stat = torch.from_numpy(np.linalg.cholesky(gram) if name == "Nash" else gram)
            if case == 0:  # neither side pays for its first call
                solver(gram)
                peers[name](stat)
            found.mobench.append(microseconds(solver, gram, CALLS))
            found.torchjd.append(microseconds(peers[name], stat, 1))
        yield found
