"""An epoch of a small CIFAR network with its evaluation, as a multiple of plain Adam steps on the same images.

Random images of CIFAR's shape in CIFAR's proportions: of 60 images 45 are trained on, 5 validate and 10 test. An
evaluation prunes the network to every target; of a run it comes once, whatever the number of epochs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import torch

from benchmarks.peers.row import Ratio, Row, interleaved
from benchmarks.tracked.kernels import epoch

PART = "epoch"
COMMAND = "make peers only=epoch"


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    rounds: int
    network: str = "resnet-narrow"
    batch: int = 128
    steps: int = 9


SIZES = {"quick": Size(1), "default": Size(5), "all": Size(15)}


def rows(size: Size) -> Iterator[Row]:
    """Yield what an epoch costs with what is measured at its end, and what a run's last evaluation adds."""
    torch.set_num_threads(1)
    given = (size.network, size.batch, size.steps)
    calls = {"plain": epoch.plain_epoch(*given), "own": epoch.pcd_epoch(*given), "end": epoch.evaluation(*given)}
    seconds = interleaved(calls, size.rounds)
    for name, what in (("own", "a PCD epoch, measured at its end"), ("end", "the last evaluation")):
        words = f"{size.network} {size.batch}, {what}: {median(seconds[name]) / size.steps:.2f} s by step"
        yield Ratio.of(seconds[name], seconds["plain"]).row(PART, words, COMMAND)
