"""How long a network takes on a CPU: the median over warmed repeats on one thread."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import quantiles

import torch
from torch import nn

REPEATS, REHEARSED = 50, 5
"""How many passes are timed, in a run and in a rehearsal."""


@dataclass(frozen=True)
class Latency:
    """Milliseconds per forward pass, and how they were taken."""

    median_ms: float
    lower_quartile_ms: float
    upper_quartile_ms: float
    batch_size: int
    repeats: int
    threads: int


def ready_to_time(model: nn.Module) -> nn.Module:
    """Return a float32 copy of `model` on the CPU in evaluation mode, in torch's usual memory layout."""
    return copy.deepcopy(model).to("cpu", torch.float32).to(memory_format=torch.contiguous_format).eval()


def cpu_latency(
    subject: nn.Module,
    input_shape: Sequence[int],
    *,
    batch_size: int = 1,
    warmup: int = 10,
    repeats: int = REPEATS,
    threads: int = 1,
) -> Latency:
    """Time the forward pass of a network that `ready_to_time` returned.

    `input_shape` is one image's. The first `warmup` passes are not counted. The process's number of
    torch threads is the same before and after.
    """
    images = torch.randn(batch_size, *input_shape, generator=torch.Generator().manual_seed(0))
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.inference_mode():
            for _ in range(warmup):
                subject(images)
            milliseconds = [_one_pass(subject, images) for _ in range(repeats)]
    finally:
        torch.set_num_threads(before)
    lower, median, upper = quantiles(milliseconds, n=4, method="inclusive")
    return Latency(median, lower, upper, batch_size, repeats, threads)


def _one_pass(subject: nn.Module, images: torch.Tensor) -> float:
    start = time.perf_counter()
    subject(images)
    return 1e3 * (time.perf_counter() - start)
