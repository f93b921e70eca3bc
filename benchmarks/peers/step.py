"""What a PCD step costs, as a multiple of a plain Adam step: the median of paired ratios.

For each network, batch size, number of objectives and contestant (see `contestants.py`), steps
alternate with plain Adam steps on the same network; each pair gives one ratio, and the order within a
pair changes from pair to pair. So the machine's slow phases hit both sides, and their ratio hardly.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import threadpoolctl  # type: ignore[import-untyped]
import torch

from benchmarks.peers.contestants import CONTESTANTS, Subject, plain
from benchmarks.peers.row import Asked, Ratio, Row, interleaved

PART = "step"
COMMAND = "make peers only=step"
LIMITS = {
    ("resnet-34", 128, 2): 1.05,
    ("resnet-34", 128, 3): 1.15,
    ("resnet-34", 32, 2): 1.10,
    ("resnet-34", 32, 3): 1.40,
    ("digits-cnn", 32, 2): 1.10,
    ("digits-cnn", 32, 3): 1.30,
}
"""What mobench's ratio may be, by network, batch size and K."""


@dataclass(frozen=True)
class Course:
    """A network and a batch size, and who takes steps on it how often."""

    network: str
    batch: int
    pairs: int
    contestants: tuple[str, ...] = tuple(CONTESTANTS)
    ks: tuple[int, ...] = (2, 3)
    threads: int = 2
    """One is what a worker of `mobench run` has on a machine without a GPU."""


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    courses: tuple[Course, ...]


OURS = ("mobench",)
SIZES = {
    "quick": Size(
        (
            Course("digits-cnn", 32, 15),
            Course("digits-cnn", 32, 15, OURS, threads=1),
            Course("resnet-34", 32, 2, OURS),
            Course("inception", 8, 2, OURS),
        ),
    ),
    "default": Size(
        (
            Course("digits-cnn", 32, 41),
            Course("digits-cnn", 32, 201, OURS, threads=1),
            Course("resnet-34", 32, 3),
            Course("resnet-34", 128, 3, OURS),
            Course("inception", 8, 3),
        ),
    ),
    "all": Size(
        (
            Course("digits-cnn", 32, 201),
            Course("digits-cnn", 32, 401, OURS, threads=1),
            Course("resnet-34", 32, 9),
            Course("resnet-34", 128, 7),
            Course("inception", 32, 7),
        ),
    ),
}


def rows(size: Size) -> Iterator[Row]:
    """Yield every contestant's ratio to a plain step; products of numpy have one thread, as in `mobench run`."""
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        for course in size.courses:
            torch.set_num_threads(course.threads)
            for k in course.ks:
                subject = Subject(course.network, course.batch, k)
                for name in course.contestants:
                    yield compare(subject, course, name, k)
                del subject
                gc.collect()


def compare(subject: Subject, course: Course, name: str, k: int) -> Row:
    """Time a contestant against plain steps on the same network."""
    seconds = interleaved({"own": CONTESTANTS[name](subject, k), "plain": plain(subject, k)}, course.pairs)
    limit = LIMITS.get((course.network, course.batch, k)) if name == "mobench" else None
    threads = ", 1 thread" if course.threads == 1 else ""
    what = f"{course.network} {course.batch} K={k} {name}{threads}: {1e3 * median(seconds['own']):,.0f} ms"
    asked = None if limit is None else Asked("≤", limit)
    return Ratio.of(seconds["own"], seconds["plain"]).row(PART, what, COMMAND, asked)
