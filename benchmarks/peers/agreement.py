"""Our methods against TorchJD's on the same well-conditioned inputs: `python -m benchmarks.peers.agreement [COUNT]`.

An input is three Gaussian gradients in R^30 and losses between 0.5 and 2. What is compared is the update of a first
step, by the length of the difference over the length of ours. Methods that draw at random are compared on two
gradients, where the order of two does not matter, or not at all.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

import mobench


@dataclass(frozen=True)
class Pair:
    """One of our methods, TorchJD's of the same definition, and the settings that make them equal."""

    ours: str
    theirs: str
    our_settings: Mapping[str, Any] = field(default_factory=dict)
    their_settings: Mapping[str, Any] = field(default_factory=dict)
    k: int = 3
    bound: float = 1e-6
    """How far they may be apart; above 1e-6, `why` says what TorchJD does otherwise."""
    why: str = ""


EXACT = {"norm_eps": 0.0, "reg_eps": 0.0}

PAIRS = (
    Pair("upgrad", "UPGrad", their_settings=EXACT),
    Pair("dualproj", "DualProj", their_settings=EXACT),
    Pair("alignedmtl", "AlignedMTL"),
    Pair("imtlg", "IMTLG"),
    Pair("config", "ConFIG"),
    Pair("pcgrad", "PCGrad", k=2),
    Pair("gradvac", "GradVac", {"beta": 0.5}, {"eps": 0.0}, k=2),
    Pair("pcd", "PCD", {"tau": 0.1}, {"tau": 0.1}),
    Pair("fairgrad", "FairGrad", {"alpha": 2.0}, {"alpha": 2.0}),
    Pair("nashmtl", "NashMTL"),
    Pair("cagrad", "CAGrad", {"c": 0.4}, {"c": 0.4, "norm_eps": 0.0}, bound=1e-2, why="its cone solver's tolerance"),
    Pair("mgda", "MGDA", bound=0.5, why="Frank–Wolfe stops after 100 iterations, or once a step is below 1e-3"),
    Pair("sdmgrad", "SDMGrad", bound=3.0, why="20 projected gradient steps on the program that is solved exactly here"),
    Pair("gls", "GeometricMean"),
    Pair("stch", "STCH", {"smoothing": 0.1}, {"mu": 0.1}),
    Pair("uw", "UW"),
    Pair("dwa", "DWA"),
    Pair("famo", "FAMO"),
)  # fmt: skip


def largest_difference(pair: Pair, count: int) -> float:
    """Return the largest relative distance of the two updates over `count` inputs."""
    worst = 0.0
    for seed in range(count):
        rng = np.random.default_rng([seed, pair.k])
        rows = torch.from_numpy(rng.standard_normal((pair.k, 30)))
        losses = rng.uniform(0.5, 2.0, pair.k).tolist()
        ours = mobench.combine(pair.ours, rows, losses=losses, **pair.our_settings)
        theirs = mobench.combine(f"torchjd:{pair.theirs}", rows, losses=losses, **pair.their_settings)
        worst = max(worst, float(torch.linalg.vector_norm(ours - theirs) / torch.linalg.vector_norm(ours)))
    return worst


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
