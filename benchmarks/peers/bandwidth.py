"""The two operations on everything that is as large as the parameters, against the memory's speed.

The Gram matrix must read K gradients of n float32 numbers once, K·n·4 bytes. The combination
`Σ w_i g_i`, which overwrites the first gradient, must read K and write one: (K+1)·n·4 bytes. Divided by
the bandwidth this is the least time they can take. The bandwidth is measured in the same rounds with as
many threads: for reading by the quicker of torch's dot product and sum, for the combination by an
addition in place. Every call takes the next vectors of a ring that is larger than any cache, so that
all numbers come from memory. On one thread the clock counts the thread's own time, so that a busy
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
from mobench.gradients.blocks import Row as GradientRow
from mobench.gradients.blocks import StoredRow, weighted_sum
from mobench.gradients.gram import GramSum

PART = "bandwidth"
COMMAND = "make peers only=bandwidth"
LIMIT = Asked("≤", 1.3)
NUMBER_BYTES = 4
RING = 13
"""Vectors that calls take in turn: at n = 21 million more than a gigabyte, which is more than a cache holds."""


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    rounds: int
    n: int = 21_000_000
    threads: tuple[int, ...] = (1, 2)
    ks: tuple[int, ...] = (2, 3)


SIZES = {"quick": Size(7), "default": Size(41), "all": Size(101)}


def gram_bytes(k: int, n: int) -> int:
    return k * n * NUMBER_BYTES


def combination_bytes(k: int, n: int) -> int:
    return (k + 1) * n * NUMBER_BYTES


class Ring:
    """Vectors handed out in turn."""

    def __init__(self, n: int) -> None:
        self._vectors = [torch.randn(n, generator=torch.Generator().manual_seed(i)) for i in range(RING)]
        self._next = 0

    def take(self, k: int) -> list[Tensor]:
        """Return the next `k` vectors."""
        chosen = [self._vectors[(self._next + i) % RING] for i in range(k)]
        self._next += k
        return chosen


def rows(size: Size) -> Iterator[Row]:
    """Yield both bandwidths, then the time of each operation as a multiple of the least."""
    before = torch.get_num_threads()
    ring = Ring(size.n)
    with torch.no_grad():
        for threads in size.threads:
            torch.set_num_threads(threads)
            yield from _on(ring, size, threads)
    torch.set_num_threads(before)


def _on(ring: Ring, size: Size, threads: int) -> Iterator[Row]:
    n, noun = size.n, "thread" if threads == 1 else "threads"
    reading: dict[str, Callable[[], object]] = {
        "dot": lambda: torch.dot(*ring.take(2)),
        "sum": lambda: ring.take(1)[0].sum(),
    }
    adding: dict[str, Callable[[], object]] = {"add": lambda: _add(*ring.take(2))}
    for k in size.ks:
        reading[f"gram {k}"] = lambda k=k: gram(ring.take(k))  # type: ignore[misc]
        adding[f"combination {k}"] = lambda k=k: combine(ring.take(k))  # type: ignore[misc]
    clock = time.thread_time if threads == 1 else time.perf_counter
    # One after the other, because what was written last is still on its way to the memory during the next call.
    seconds = interleaved(reading, size.rounds, clock) | interleaved(adding, size.rounds, clock)
    moved = {"dot": 2 * n * NUMBER_BYTES, "sum": n * NUMBER_BYTES, "add": 3 * n * NUMBER_BYTES}
    speeds = {name: [moved[name] / value for value in seconds[name]] for name in moved}
    fastest = [max(pair) for pair in zip(speeds["dot"], speeds["sum"], strict=True)]
    yield Row(PART, f"bandwidth, reading, {threads} {noun}", median(fastest) / 1e9, "GB/s", COMMAND)
    yield Row(PART, f"bandwidth, adding in place, {threads} {noun}", median(speeds["add"]) / 1e9, "GB/s", COMMAND)
    for k in size.ks:
        for name, volume, speed in (
            ("gram", gram_bytes(k, n), fastest),
            ("combination", combination_bytes(k, n), speeds["add"]),
        ):
            taken = seconds[f"{name} {k}"]
            what = f"{name} K={k}, {threads} {noun}: {1e3 * median(taken):.1f} ms"
            yield Ratio.of(taken, [volume / value for value in speed]).row(PART, what, COMMAND, LIMIT)


def _add(a: Tensor, b: Tensor) -> Tensor:
    return a.add_(b, alpha=1e-9)


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
