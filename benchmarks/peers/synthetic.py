"""A run of the escape experiment: mobench against a plain loop over TorchJD's aggregators.

    python benchmarks/peers/synthetic.py [--steps 100] [--repeats 5] [--json FILE]

Both train the same double-well problem with torch's SGD for the same number of steps. TorchJD's loop
is the documented one: losses by autograd, `backward`, `jac_to_grad`, `optimizer.step()`. mobench trains
all 49 configurations × 5 seeds of the suite as it always does, in lockstep, and the time of a group is
divided by its runs. Rounds of both are interleaved; the table shows medians and their ratio.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
from rich.console import Console
from rich.table import Table
from torchjd import aggregation
from torchjd.autojac import backward, jac_to_grad

from mobench.plan import make_groups, make_plan
from mobench.registry import find_problem
from mobench.spec import RunSpec
from mobench.streams import Streams
from mobench.suite import load_suite
from mobench.trainer import train

AGGREGATORS: dict[str, Callable[[int], aggregation.Aggregator]] = {
    "pcd": lambda k: aggregation.PCD(tau=0.3),
    "mgda": lambda k: aggregation.MGDA(),
    "pcgrad": lambda k: aggregation.PCGrad(),
    "cagrad": lambda k: aggregation.CAGrad(c=0.4),
    "auxinash": lambda k: aggregation.NashMTL(n_tasks=k),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100, help="steps of each run (the suite takes 500)")
    parser.add_argument("--repeats", type=int, default=5, help="interleaved rounds")
    parser.add_argument("--k", type=int, nargs="+", default=[2, 3, 7], help="numbers of objectives")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    table = Table(title="Seconds per run", box=None, header_style="dim")
    for column in ("method", "K", "mobench", "TorchJD", "ratio"):
        table.add_column(column, justify="right")
    rows = []
    for k in arguments.k:
        for method, aggregator in AGGREGATORS.items():
            ours, peers = [], []
            groups = _groups(method, k, arguments.steps)
            for _ in range(arguments.repeats):
                ours.append(_mobench(groups))
                peers.append(_torchjd(aggregator(k), k, arguments.steps))
            row = {"method": method, "k": k, "mobench": median(ours), "torchjd": median(peers)}
            rows.append({**row, "ratio": median(peer / own for peer, own in zip(peers, ours, strict=True))})
            table.add_row(method, str(k), f"{median(ours):.4f}", f"{median(peers):.4f}", f"{rows[-1]['ratio']:.1f}")
    Console().print(table)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2), encoding="utf-8")


def _groups(method: str, k: int, steps: int) -> list[list[RunSpec]]:
    """Return the suite's groups that contain the method's runs; its own runs alone are timed."""
    overrides = {"methods": [method], "problems.double-well.k": k, "training.steps": steps}
    return make_groups(make_plan(load_suite("escape"), overrides).specs)


def _mobench(groups: list[list[RunSpec]]) -> float:
    started = time.perf_counter()
    for group in groups:
        train(group)
    return (time.perf_counter() - started) / sum(map(len, groups))


def _torchjd(aggregator: aggregation.Aggregator, k: int, steps: int) -> float:
    problem = find_problem("double-well")(k=k, spread=0.1)
    constants = problem.constants(Streams(0))  # type: ignore[attr-defined]
    batched = {name: value[None] for name, value in constants.items()}
    theta = problem.initial(constants, Streams(0)).requires_grad_()  # type: ignore[attr-defined]
    optimizer = torch.optim.SGD([theta], lr=0.05)
    started = time.perf_counter()
    for _ in range(steps):
        losses = problem.values(theta[None], batched, 0)[0]  # type: ignore[attr-defined]
        backward(losses)
        jac_to_grad([theta], aggregator)
        optimizer.step()
        optimizer.zero_grad()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
