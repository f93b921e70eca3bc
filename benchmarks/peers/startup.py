"""How long the command line takes to answer, a process for each repetition."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median, quantiles

from benchmarks.peers.row import Asked, Row, interleaved

PART = "startup"
COMMAND = "make peers only=startup"


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    rounds: int


SIZES = {"quick": Size(5), "default": Size(9), "all": Size(31)}


def rows(size: Size) -> Iterator[Row]:
    """Yield the seconds of `mobench --help`."""
    command = [sys.executable, "-m", "mobench", "--help"]
    seconds = interleaved({"help": lambda: subprocess.run(command, capture_output=True, check=True)}, size.rounds)
    low, _, high = quantiles(seconds["help"], n=4, method="inclusive")
    yield Row(PART, "mobench --help", median(seconds["help"]), "s", COMMAND, Asked("≤", 0.5), low, high)
