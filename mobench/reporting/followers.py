"""Who follows a run besides the progress bar: a log of JSON lines, TensorBoard and MLflow, as far as asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mobench.reporting.sinks.base import Sink, SinkWriter
from mobench.running.event_log import EventLog
from mobench.running.events import Event
from mobench.store.folder import Store


class Followers:
    """Opened before anything runs, so that a missing package or a wrong place is said at once."""

    def __init__(self, log: str | None, tensorboard: str | None, mlflow: str | None) -> None:
        self._sinks: list[Sink] = []
        if tensorboard is not None:
            from mobench.reporting.sinks.tensorboard import TensorBoardSink

            self._sinks.append(TensorBoardSink(Path(tensorboard)))
        if mlflow is not None:
            from mobench.reporting.sinks.mlflow import MlflowSink

            self._sinks.append(MlflowSink(mlflow))
        self.log = None if log is None else EventLog(Path(log))

    @contextmanager
    def following(
        self, store: Store, suites: Mapping[str, str], to_do: Collection[str]
    ) -> Iterator[Callable[[Event], None]]:
        """Provide what takes events; `suites` has the suite of every planned run by id."""
        if self.log is not None:
            self.log.begin(len(suites), len(to_do), store.root)
        stored = [id_ for id_ in suites if id_ not in to_do]
        writer = SinkWriter(self._sinks, store, suites, stored)

        def take(event: Event) -> None:
            if self.log is not None:
                self.log.update(event)
            writer.update(event)

        with writer:
            yield take
        if writer.error:
            print(f"warning: not every run went to tensorboard or mlflow: {writer.error}", file=sys.stderr)
