"""Layer: a results folder of a thousand records. asv runs each benchmark in a folder of its own."""

from __future__ import annotations

from pathlib import Path

from .kernels import store
from .measured import Measured


class Thousand(Measured):
    """Write, read and tabulate a thousand records."""

    def time_save(self) -> None:
        store.save(Path.cwd())()

    def time_load(self) -> None:
        store.load(Path.cwd())()

    def time_table(self) -> None:
        store.tabulate(Path.cwd())()

    def peakmem_table(self) -> None:
        store.tabulate(Path.cwd())()

    def track_bytes_per_record(self) -> float:
        return store.bytes_per_record(Path.cwd())

    track_bytes_per_record.unit = "bytes"  # type: ignore[attr-defined]
