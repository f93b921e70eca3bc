"""Our methods against TorchJD's on the same well-conditioned inputs: `python -m benchmarks.peers.agreement [COUNT]`.

An input is three Gaussian gradients in R^30 and losses between 0.5 and 2. What is compared is the update, by the length
of the difference over the length of ours: that of a first step, and for methods with a memory those of several steps in
a row. Methods whose order of objectives is random are compared on two, where it does not matter; methods that draw
numbers get the same ones.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np
import torch

import mobench
from mobench.core.registry import find_method


@dataclass(frozen=True)
class Pair:
    """One of our methods, TorchJD's of the same definition, and the settings that make them equal."""

    ours: str
    theirs: str
    our_settings: Mapping[str, Any] = field(default_factory=dict)
    their_settings: Mapping[str, Any] = field(default_factory=dict)
    k: int = 3
    steps: int = 1
    """Inputs that one object gets in a row."""
    bound: float = 1e-6
    """How far they may be apart; above 1e-6, `why` says what TorchJD does otherwise."""
    why: str = ""


EXACT = {"norm_eps": 0.0, "reg_eps": 0.0}

PAIRS = (
    Pair("ws", "scalarization.Constant", {"weight": 0.5}, {"weights_": (0.5, 0.25, 0.25)}),
    Pair("upgrad", "UPGrad", their_settings=EXACT),
    Pair("dualproj", "DualProj", their_settings=EXACT),
    Pair("alignedmtl", "AlignedMTL"),
    Pair("imtlg", "IMTLG"),
    Pair("config", "ConFIG"),
    Pair("pcgrad", "PCGrad", k=2),
    Pair("gradvac", "GradVac", {"beta": 0.5}, {"eps": 0.0}, k=2, steps=5),
    Pair("graddrop", "GradDrop"),
    Pair("rgw", "Random"),
    Pair("rlw", "scalarization.Random"),
    Pair("pcd", "PCD", {"tau": 0.1}, {"tau": 0.1}, steps=5),
    Pair("fairgrad", "FairGrad", {"alpha": 2.0}, {"alpha": 2.0}),
    Pair("nashmtl", "NashMTL"),
    Pair("cagrad", "CAGrad", {"c": 0.4}, {"c": 0.4, "norm_eps": 0.0}, bound=1e-2, why="its cone solver's tolerance"),
    Pair("mgda", "MGDA", {}, {"epsilon": 1e-15, "max_iters": 3000}, bound=0.1, why="Frank–Wolfe converges slowly"),
    Pair("sdmgrad", "SDMGrad", their_settings={"lr": 0.3, "n_iter": 300}),
    Pair("gls", "GeometricMean"),
    Pair("stch", "STCH", {"smoothing": 0.1}, {"mu": 0.1}),
    Pair("uw", "UW", {"lr": 0.1}, {"trained_lr": 0.1}, steps=5),
    Pair("dwa", "DWA", {"period": 2}, {"period": 2}, steps=7),
    Pair("famo", "FAMO", steps=5),
)  # fmt: skip


def largest_difference(pair: Pair, count: int) -> float:
    """Return the largest relative distance of the two updates over `count` inputs."""
    worst = 0.0
    for first in range(0, count, pair.steps):
        inputs = [_input(seed, pair.k) for seed in range(first, min(first + pair.steps, count))]
        ours = _updates(find_method(pair.ours)(**pair.our_settings), inputs, first)
        with _drawn_from(np.random.default_rng(first)):
            theirs = _updates(find_method(f"torchjd:{pair.theirs}")(**pair.their_settings), inputs, first)
        for one, other in zip(ours, theirs, strict=True):
            worst = max(worst, float(torch.linalg.vector_norm(one - other) / torch.linalg.vector_norm(one)))
    return worst


def _input(seed: int, k: int) -> tuple[torch.Tensor, list[float]]:
    rng = np.random.default_rng([seed, k])
    return torch.from_numpy(rng.standard_normal((k, 30))), rng.uniform(0.5, 2.0, k).tolist()


def _updates(method: mobench.Method, inputs: list[tuple[torch.Tensor, list[float]]], seed: int) -> list[torch.Tensor]:
    """Return the updates of one object; after a step it observes the losses of the next one."""
    method.rng = np.random.default_rng(seed)
    found = []
    for i, (rows, losses) in enumerate(inputs):
        found.append(mobench.combine(method, rows, losses=losses))
        method.observe(np.array(inputs[(i + 1) % len(inputs)][1]))
    return found


@contextmanager
def _drawn_from(rng: np.random.Generator) -> Iterator[None]:
    """Let torch draw uniform and normal numbers from `rng`, as our methods draw theirs."""
    uniform = mock.patch.object(torch, "rand", lambda shape, **kind: torch.from_numpy(rng.random(tuple(shape))))
    normal = mock.patch.object(torch, "randn", lambda size, **kind: torch.from_numpy(rng.standard_normal(size)))
    with uniform, normal:
        yield


def main(count: int, names: list[str]) -> None:
    """Print the table of the documentation."""
    print("| ours | TorchJD's | largest difference | why |\n|---|---|---|---|")
    for pair in PAIRS:
        if not names or pair.ours in names:
            settings = ", ".join(f"{name}={value}" for name, value in pair.their_settings.items())
            label = f"`{pair.theirs}`" + (f" ({settings})" if settings else "")
            print(f"| `{pair.ours}` | {label} | {largest_difference(pair, count):.1e} | {pair.why} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, sys.argv[2:])
