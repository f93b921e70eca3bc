"""The two operations on everything that is as large as the parameters, against the memory's speed.

The Gram matrix must read K gradients of n float32 numbers once, K·n·4 bytes. The combination
`Σ w_i g_i`, which overwrites the first gradient, must read K and write one: (K+1)·n·4 bytes. Divided by
the bandwidth this is the least time they can take. The bandwidth is measured in the same rounds on the
same memory: for reading the quicker of torch's dot product and sum, for the combination an addition
in place, with as many threads. On one thread the clock counts the thread's own time, so that a busy
machine disturbs it little.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import torch
from torch import Tensor

from benchmarks.peers.row import Asked, Ratio, Row, interleaved
from mobench.inner_products import GramSum
from mobench.rows import Row as GradientRow
from mobench.rows import StoredRow, weighted_sum

PART = "bandwidth"
COMMAND = "make peers only=bandwidth"
LIMIT = Asked("≤", 1.3)
NUMBER_BYTES = 4


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    rounds: int
    n: int = 21_000_000
    threads: tuple[int, ...] = (1, 2)
    ks: tuple[int, ...] = (2, 3)


SIZES = {"quick": Size(7), "default": Size(15), "all": Size(41)}


def gram_bytes(k: int, n: int) -> int:
    return k * n * NUMBER_BYTES


def combination_bytes(k: int, n: int) -> int:
    return (k + 1) * n * NUMBER_BYTES


def rows(size: Size) -> Iterator[Row]:
    """Yield both bandwidths, then the time of each operation as a multiple of the least."""
    before = torch.get_num_threads()
    gradients = [torch.randn(size.n, generator=torch.Generator().manual_seed(i)) for i in range(max(size.ks))]
    with torch.no_grad():
        for threads in size.threads:
            torch.set_num_threads(threads)
            yield from _on(gradients, size, threads)
    torch.set_num_threads(before)


def _on(gradients: Sequence[Tensor], size: Size, threads: int) -> Iterator[Row]:
    n = size.n
    calls: dict[str, Callable[[], object]] = {
        "dot": lambda: torch.dot(gradients[0], gradients[1]),
        "sum": lambda: gradients[0].sum(),
        "add": lambda: gradients[0].add_(gradients[1], alpha=1e-9),
    }
    moved = {"dot": 2 * n * NUMBER_BYTES, "sum": n * NUMBER_BYTES, "add": 3 * n * NUMBER_BYTES}
    for k in size.ks:
        calls[f"gram {k}"] = lambda k=k: gram(gradients[:k])  # type: ignore[misc]
        calls[f"combination {k}"] = lambda k=k: combine(gradients[:k])  # type: ignore[misc]
    seconds = interleaved(calls, size.rounds, time.thread_time if threads == 1 else time.perf_counter)
    speeds = {name: [moved[name] / value for value in seconds[name]] for name in moved}
    reading = [max(pair) for pair in zip(speeds["dot"], speeds["sum"], strict=True)]
    noun = "thread" if threads == 1 else "threads"
    yield Row(PART, f"bandwidth, reading, {threads} {noun}", median(reading) / 1e9, "GB/s", COMMAND)
    yield Row(PART, f"bandwidth, adding in place, {threads} {noun}", median(speeds["add"]) / 1e9, "GB/s", COMMAND)
    for k in size.ks:
        for name, volume, speed in (
            ("gram", gram_bytes(k, n), reading),
            ("combination", combination_bytes(k, n), speeds["add"]),
        ):
            taken = seconds[f"{name} {k}"]
            what = f"{name} K={k}, {threads} {noun}: {1e3 * median(taken):.1f} ms"
            yield Ratio.of(taken, [volume / value for value in speed]).row(PART, what, COMMAND, LIMIT)


def gram(gradients: Sequence[Tensor]) -> object:
    """Take all inner products as a training step does."""
    total = GramSum(len(gradients))
    total.add(gradients)
    return total.matrix()


def combine(gradients: Sequence[Tensor]) -> object:
    """Combine as a training step does: into the memory of the first gradient, which hardly changes."""
    terms: list[tuple[GradientRow, float]] = [
        (StoredRow([gradient], 1.0, owned=not number), 1e-9 if number else 1.0 + 1e-7)
        for number, gradient in enumerate(gradients)
    ]
    return weighted_sum(terms, 0, gradients[0])
