"""A run of the escape experiment: mobench against a plain loop over TorchJD's aggregators.

Both train the same double-well problem with torch's SGD. TorchJD's loop is the documented one: losses by autograd,
`backward`, `jac_to_grad`, `optimizer.step()`; all its steps cost the same, and a few are timed. mobench trains a
method's configurations × seeds in lockstep, ten runs of MGDA and of PCGrad. Times are processor time on one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from time import process_time

import torch
from torchjd import aggregation
from torchjd.autojac import backward, jac_to_grad

from benchmarks.peers.row import Asked, Ratio, Row, interleaved
from mobench.core.registry import find_problem
from mobench.core.spec import RunSpec
from mobench.core.streams import Streams
from mobench.planning.plan import make_groups, make_plan
from mobench.planning.suite import load_suite
from mobench.training.loop import train

PART = "escape"
COMMAND = "make peers only=escape"
FASTER = Asked("≥", 30.0)
PEER_STEPS = 25
"""How many steps of TorchJD's loop are timed."""
AGGREGATORS: dict[str, Callable[[int], aggregation.Aggregator]] = {
    "pcd": lambda k: aggregation.PCD(tau=0.3),
    "mgda": lambda k: aggregation.MGDA(),
    "pcgrad": lambda k: aggregation.PCGrad(),
    "cagrad": lambda k: aggregation.CAGrad(c=0.4),
    "auxinash": lambda k: aggregation.NashMTL(n_tasks=k),
}


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    steps: int
    """Steps of a run of mobench; the suite takes 500."""
    rounds: int
    ks: tuple[int, ...] = (2, 3, 7)
    methods: tuple[str, ...] = tuple(AGGREGATORS)


SIZES = {"quick": Size(100, 3, (2, 7)), "default": Size(200, 3), "all": Size(500, 7)}


def rows(size: Size) -> Iterator[Row]:
    """Yield how many times longer a run takes as a loop over TorchJD."""
    torch.set_num_threads(1)
    for k in size.ks:
        groups = {method: _groups(method, k, size.steps) for method in size.methods}
        calls: dict[str, Callable[[], object]] = {f"{method}, TorchJD": _peer(method, k) for method in size.methods}
        calls |= {
            method: lambda groups=each: [train(group) for group in groups]  # type: ignore[misc]
            for method, each in groups.items()
        }
        seconds = interleaved(calls, size.rounds, process_time)
        for method in size.methods:
            peer = [value / PEER_STEPS for value in seconds[f"{method}, TorchJD"]]
            runs = sum(map(len, groups[method]))
            steps = [value / runs / size.steps for value in seconds[method]]
            what = f"a run, {method} K={k}: {1e3 * median(steps):.3f} ms a step"
            yield Ratio.of(peer, steps).row(PART, what, COMMAND, FASTER)


def _peer(method: str, k: int) -> Callable[[], None]:
    aggregator = AGGREGATORS[method](k)
    return lambda: torchjd_loop(aggregator, k, PEER_STEPS)


def _groups(method: str, k: int, steps: int) -> list[list[RunSpec]]:
    """Return the method's runs of the suite for one K, divided as the suite divides them."""
    overrides = {"methods": [method], "problems.double-well.k": k, "training.steps": steps}
    return make_groups(make_plan(load_suite("escape"), overrides).specs)


def torchjd_loop(aggregator: aggregation.Aggregator, k: int, steps: int) -> None:
    """Train one run."""
    problem = find_problem("double-well")(k=k, spread=0.1)
    constants = problem.constants(Streams(0))  # type: ignore[attr-defined]
    batched = {name: value[None] for name, value in constants.items()}
    theta = problem.initial(constants, Streams(0)).requires_grad_()  # type: ignore[attr-defined]
    optimizer = torch.optim.SGD([theta], lr=0.05)
    for _ in range(steps):
        losses = problem.values(theta[None], batched, 0)[0]  # type: ignore[attr-defined]
        backward(losses)
        jac_to_grad([theta], aggregator)
        optimizer.step()
        optimizer.zero_grad()
