"""A run of the escape experiment: mobench against a plain loop over TorchJD's aggregators.

Both train the same double-well problem with torch's SGD for the same number of steps. TorchJD's loop
is the documented one: losses by autograd, `backward`, `jac_to_grad`, `optimizer.step()`. mobench trains
all configurations × seeds of the suite as it always does, in lockstep, and the time of a group is
divided by its runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

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
FASTER = Asked("≥", 10.0)
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
    """Steps of a run; the suite takes 500."""
    rounds: int
    ks: tuple[int, ...] = (2, 3, 7)
    methods: tuple[str, ...] = tuple(AGGREGATORS)


SIZES = {"quick": Size(10, 3, (2, 7)), "default": Size(25, 3), "all": Size(100, 7)}


def rows(size: Size) -> Iterator[Row]:
    """Yield how many times longer a run takes as a loop over TorchJD."""
    torch.set_num_threads(1)
    for k in size.ks:
        for method in size.methods:
            groups = _groups(method, k, size.steps)
            runs = sum(map(len, groups))
            aggregator = AGGREGATORS[method](k)
            seconds = interleaved(
                {
                    "mobench": lambda groups=groups: [train(group) for group in groups],  # type: ignore[misc]
                    "torchjd": lambda aggregator=aggregator, k=k: torchjd_loop(aggregator, k, size.steps),  # type: ignore[misc]
                },
                size.rounds,
            )
            own = [value / runs for value in seconds["mobench"]]
            what = f"a run, {method} K={k}: {1e3 * median(own) / size.steps:.2f} ms a step"
            yield Ratio.of(seconds["torchjd"], own).row(PART, what, COMMAND, FASTER)


def _groups(method: str, k: int, steps: int) -> list[list[RunSpec]]:
    """Return the suite's groups that contain the method's runs; its own runs alone are timed."""
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
