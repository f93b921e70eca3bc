"""Interleaved timings of the solvers and of TorchJD's weightings, on one thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np
import torch

from benchmarks.peers import torchjd_weightings
from mobench import solvers
from tests.solvers.gradients import independent

CALLS = 20
"""Calls of a solver per timing, as one is too short for the clock; the peer is called once."""


@dataclass
class Speed:
    """Median microseconds per call of one method at one K."""

    method: str
    k: int
    cases: int
    mobench: float
    torchjd: float

    @property
    def ratio(self) -> float:
        return self.torchjd / self.mobench

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio}


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


def measure(cases: int, progress: Callable[[str], None]) -> list[Speed]:
    """Time both sides in turn on the same matrices, with gradient lengths within a factor of ten."""
    torch.set_num_threads(1)
    rows = []
    for k in (2, 3, 8):
        rng = np.random.default_rng(k)
        grams = [independent(rng, k, decades=0.5).gram for _ in range(cases)]
        peers = torchjd_weightings.on_tensors(k)
        for name, solver in ours(k).items():
            progress(f"K={k} {name}: timing")
            own, other = [], []
            for case, gram in enumerate(grams):
                stat = torch.from_numpy(np.linalg.cholesky(gram) if name == "Nash" else gram)
                if case == 0:  # neither side pays for its first call
                    solver(gram)
                    peers[name](stat)
                own.append(microseconds(solver, gram, CALLS))
                other.append(microseconds(peers[name], stat, 1))
            rows.append(Speed(name, k, cases, median(own), median(other)))
    return rows
