"""The cost of a step beside one of the weighted sum: `python -m benchmarks.step_costs [METHOD[:SETTING=VALUE] …]`.

A network with K outputs, in the front end `MultiObjective`. Methods take turns, a few steps each, and what is printed
is the median over turns of a method's time over that of the weighted sum in the same turn.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from statistics import median

import torch
from torch import Tensor

import mobench
from mobench.core.registry import methods
from mobench.core.settings import Setting

COUNTS = (2, 3, 8)
WIDTH, ROWS, TURNS, STEPS = 512, 64, 15, 4


def stepper(name: str, k: int) -> Callable[[], None]:
    """Return a function that takes one step of a method, written as `sdmgrad:batches=two`."""
    method, _, rest = name.partition(":")
    settings = dict(part.split("=", 1) for part in rest.split(",") if part)
    declared: dict[str, Setting] = methods()[method].settings
    given = {key: declared[key].parse(key, value) for key, value in settings.items()}
    torch.manual_seed(0)
    trunk = torch.nn.Sequential(*(part for _ in range(3) for part in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh())))
    network = torch.nn.Sequential(trunk, torch.nn.Linear(WIDTH, k))
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
    wanted = torch.randn(2 * ROWS, k)
    inputs = torch.randn(2 * ROWS, WIDTH)

    def losses(part: slice) -> list[Tensor]:
        return list((network(inputs[part]) - wanted[part]).square().mean(dim=0).unbind())

    objective = mobench.MultiObjective(method, optimizer, second_batch=lambda: losses(slice(ROWS, None)), **given)

    def step() -> None:
        objective.backward(losses(slice(ROWS)))
        optimizer.step()
        if objective.wants_losses_after:
            with torch.no_grad():
                objective.observe([float(loss) for loss in losses(slice(ROWS))])

    return step


def timed(step: Callable[[], None]) -> float:
    """Return the seconds of a few steps."""
    started = time.perf_counter()
    for _ in range(STEPS):
        step()
    return time.perf_counter() - started


def ratios(names: list[str], k: int) -> list[float]:
    """Return each method's time over that of the weighted sum."""
    steps = [stepper(name, k) for name in ("ws", *names)]
    for step in steps:
        timed(step)
    turns = [[timed(step) for step in steps] for _ in range(TURNS)]
    return [median(turn[place] / turn[0] for turn in turns) for place in range(1, len(steps))]


def main(names: list[str]) -> None:
    """Print the table."""
    torch.set_num_threads(1)
    found = {k: ratios(names, k) for k in COUNTS}
    print(f"| method | {' | '.join(f'K = {k}' for k in COUNTS)} |\n|---|{'---|' * len(COUNTS)}")
    for place, name in enumerate(names):
        print(f"| `{name}` | {' | '.join(f'{found[k][place]:.2f}' for k in COUNTS)} |")


if __name__ == "__main__":
    main(
        sys.argv[1:] or ["pcd", "mgda", "dbgd", "png", "bloop", "cosine-gate", "modo", "sdmgrad", "sdmgrad:batches=two"]
    )
