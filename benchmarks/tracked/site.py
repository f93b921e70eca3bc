"""Layer: the leaderboard site."""

from __future__ import annotations

from pathlib import Path

from .kernels import site
from .measured import Measured


class Small(Measured):
    """A site of one suite with sixty runs."""

    rounds = 1
    repeat = (1, 2, 1.0)

    def time_build(self) -> None:
        site.build(Path.cwd())()

    def peakmem_build(self) -> None:
        site.build(Path.cwd())()

    def track_kilobytes(self) -> float:
        return site.kilobytes(Path.cwd())

    track_kilobytes.unit = "kB"  # type: ignore[attr-defined]
