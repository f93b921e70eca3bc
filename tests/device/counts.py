"""Launches and waits of the host a step, on a pretended CUDA device: what a step asks of a GPU, whatever its speed.

python -m tests.device.counts
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from mobench.core.registry import find_method
from mobench.training.loop import Group
from tests.device.pretended_cuda import PretendedCuda
from tests.problems.compression.runs import few_steps, machine, spec

NETWORKS = ("densenet-121", "resnet-34", "inception", "mobilenet-v2")
METHODS = ("plain", "ws", "pcd", "cagrad", "auxinash")
WARM_UP = 3
"""Steps that are not counted: what is made once is made in the first, and an epoch's order in its first."""


@dataclass(frozen=True)
class Step:
    """What one step asks of the device, its drawing of a batch included."""

    launches: int
    """Operations that compute. A fused one counts once, though CUDA may divide it."""
    waits: int
    """How often the host waits for a number."""
    sites: tuple[str, ...]


def counted(network: str, method: str, **settings: object) -> Step:
    """Return the counts of a step in the middle of an epoch."""
    run = spec(method, training=few_steps(WARM_UP + 1), network=network, batch_size=2, **settings)
    with machine(device="cuda", rehearsal=True), PretendedCuda() as device:
        group = Group([run])
        for total in (WARM_UP, WARM_UP + 1):
            device.forget_counts()
            group.total = total
            group.run(None, 1e9)
    (member,) = group.members
    assert member.error is None, member.error
    return Step(device.launches.total(), device.waits.total(), tuple(sorted(device.sites)))


def main() -> None:
    """Print a table, with a proximal step as in the paper's suite."""
    print(f"{'network':14} {'secondaries':12} {'method':10} {'launches':>8} {'× plain':>8} {'waits':>6}")
    for network in NETWORKS:
        plain = 0
        for method in METHODS:
            for penalty in ("group-lasso", "l1-nuclear") if method == "pcd" else ("group-lasso",):
                prox = {} if find_method(method).one_objective else {"prox": 1e-3}
                step = counted(network, method, penalty=penalty, dataset="cifar-10", **prox)
                plain = plain or step.launches
                numbers = f"{step.launches:8,} {step.launches / plain:8.2f} {step.waits:6}"
                print(f"{network:14} {penalty:12} {method:10} {numbers}", flush=True)
    print("\nWaits of the last:", *step.sites, sep="\n  ", file=sys.stderr)


if __name__ == "__main__":
    main()
