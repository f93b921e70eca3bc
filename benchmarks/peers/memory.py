"""Memory that a PCD step needs beyond plain Adam training, as a multiple of the parameters' size in float32.

Each contestant (see `contestants.py`) takes three steps in a process of its own. Every allocation and
release by torch's CPU allocator is recorded from the start on, temporary memory inside an operation
included, so the peak is exact and the same in every repetition; the extra memory is its difference to
that of plain training. The batch is small, because activations, which all contestants share, would
only hide the difference: with large batches plain training peaks before any gradient exists.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.row import Asked, Row

PART = "memory"
COMMAND = "make peers only=memory"
STEPS = 3
LIMITS = {"resnet-34": Asked("≤", 0.5), "inception": Asked("≤", 1.2)}
"""What mobench may need, in multiples of the parameters' size. A small network keeps all gradients, for speed."""


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    networks: tuple[str, ...]
    contestants: tuple[str, ...] = ("mobench", "separate passes", "torchjd", "torchjd, frugal")
    ks: tuple[int, ...] = (2, 3)
    batch: int = 2


SIZES = {
    "quick": Size(("resnet-34",), ("mobench",)),
    "default": Size(("digits-cnn", "resnet-34")),
    "all": Size(("digits-cnn", "resnet-34", "inception")),
}


def rows(size: Size) -> Iterator[Row]:
    """Yield every contestant's extra memory."""
    for network in size.networks:
        base = in_fresh_process("plain", network, size.batch, 2)
        for k in size.ks:
            for name in size.contestants:
                found = in_fresh_process(name, network, size.batch, k)
                extra = (found["allocated"] - base["allocated"]) / base["parameter_bytes"]
                asked = LIMITS.get(network) if name == "mobench" else None
                yield Row(PART, f"{network} K={k} {name}: extra / parameters", extra, "×", COMMAND, asked)


def in_fresh_process(name: str, network: str, batch: int, k: int) -> dict[str, int]:
    """Run `measure` in a process that has allocated nothing else."""
    command = [sys.executable, "-m", "benchmarks.peers.memory", name, network, str(batch), str(k)]
    root = Path(__file__).resolve().parents[2]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=root)
    if ended.returncode:
        raise RuntimeError(f"{' '.join(command[2:])} ended with {ended.returncode}:\n{ended.stderr}")
    found: dict[str, int] = json.loads(ended.stdout)
    return found


def measure(name: str, network: str, batch: int, k: int) -> dict[str, int]:
    """Take a few steps in this process and return the peak of its memory in bytes."""
    import torch

    from benchmarks.peers.contestants import CONTESTANTS, Subject, plain

    torch.set_num_threads(1)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profiler:
        # Only mobench keeps penalties between steps; the group lasso of the others stores next to nothing.
        subject = Subject(network, batch, k if name == "mobench" else 2)
        take = plain(subject, k) if name == "plain" else CONTESTANTS[name](subject, k)
        for _ in range(STEPS):
            take()
    return {"allocated": _highest(profiler), "parameter_bytes": 4 * subject.size}


def _highest(profiler: Any) -> int:
    """Return the most bytes that were allocated at one time."""
    events = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    live = highest = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        live += event.nbytes()
        highest = max(highest, live)
    return highest


if __name__ == "__main__":
    _, chosen_name, chosen_network, chosen_batch, chosen_k = sys.argv
    print(json.dumps(measure(chosen_name, chosen_network, int(chosen_batch), int(chosen_k))))
