"""Finished runs for TensorBoard: a folder each, `DIR/SUITE.PROFILE/PROBLEM/METHOD-ID`."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path

from mobench.errors import UserError
from mobench.reporting.sinks.base import Sink, curves, missing_extra, parameters
from mobench.store.record import RunRecord

SHOWN = 12
"""How much of a run's id names its folder."""


class TensorBoardSink(Sink):
    """Event files. A run's folder gets its name when it is whole, so that a killed process leaves none half-written."""

    def __init__(self, folder: Path) -> None:
        try:
            import tensorboard  # noqa: F401 - what torch's writer needs
        except ImportError as error:
            raise missing_extra("tensorboard", error) from error
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"tensorboard={folder} cannot be written: {error.strerror}") from error
        for unfinished in folder.glob("*/*/.*"):
            shutil.rmtree(unfinished)
        self._folder = folder
        self._known = {path.name.rpartition("-")[2] for path in folder.glob("*/*/*-*")}

    def has(self, id_: str) -> bool:
        return id_[:SHOWN] in self._known

    def add(self, record: RunRecord, suite: str) -> None:
        from torch.utils.tensorboard import SummaryWriter

        name = f"{record.spec.method.replace('/', '_')}-{record.id[:SHOWN]}"
        place = self._folder / suite / record.spec.problem
        hidden = place / f".{name}"
        when = datetime.fromisoformat(record.finished).timestamp()
        metrics = dict(record.outcome.metrics)
        with SummaryWriter(str(hidden)) as writer:
            for curve, step, value in curves(record):
                writer.add_scalar(f"curves/{curve}", value, step, walltime=when)
            shown = {f"metrics/{metric}": value for metric, value in metrics.items()}
            writer.add_hparams(parameters(record), shown, run_name=".", global_step=0)
        hidden.replace(place / name)
        self._known.add(record.id[:SHOWN])
