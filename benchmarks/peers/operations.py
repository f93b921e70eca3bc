"""What a PCD step asks of a device: dispatched operations, kernel launches and waits of the host, exact.

Steps are taken on the CPU in the way that a GPU takes (see `benchmarks/counting.py`) and counted. Operations and
launches are given as multiples of those of a plain step with a fused Adam.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.counting import Counts, count
from benchmarks.peers.contestants import CONTESTANTS, Subject, TakeStep, plain
from benchmarks.peers.row import Asked, Row
from mobench.core.device_path import forced_device_path

PART = "operations"
COMMAND = "make peers only=operations"
MOST = Asked("≤", 1.3)
WAITS = Asked("≤", 2)
"""What is asked of mobench for K = 2."""
BATCH = 2
WARM_UP = 2
"""Steps that are not counted: what is made once is made in the first."""


@dataclass(frozen=True)
class Size:
    """How much is counted."""

    networks: tuple[str, ...] = ("resnet-34", "densenet-121")
    contestants: tuple[str, ...] = ("mobench", "torchjd", "torchjd, frugal")
    ks: tuple[int, ...] = (2, 3)


SIZES = {"quick": Size(("resnet-34",)), "default": Size(), "all": Size(("digits-cnn", "resnet-34", "densenet-121"))}


def rows(size: Size) -> Iterator[Row]:
    """Yield every contestant's counts."""
    for network in size.networks:
        least = counted(network, 2, "plain")
        for k in size.ks:
            for name in size.contestants:
                found = counted(network, k, name)
                what = f"{network} K={k} {name}"
                held = name == "mobench" and k == 2
                for kind, of_plain in (("operations", least.operations), ("launches", least.launches)):
                    number = getattr(found, kind)
                    label = f"{what}: {number:,} {kind} / plain"
                    yield Row(PART, label, number / of_plain, "×", COMMAND, MOST if held else None)
                waits = float(found.synchronisations)
                yield Row(PART, f"{what}: waits of the host", waits, "", COMMAND, WAITS if held else None)


def counted(network: str, k: int, name: str) -> Counts:
    """Return what one step of a contestant dispatches."""
    subject = Subject(network, BATCH, k)
    with forced_device_path():
        take: TakeStep = plain(subject, k) if name == "plain" else CONTESTANTS[name](subject, k)
        for _ in range(WARM_UP):
            take()
        found = count(take)
    gc.collect()
    return found
