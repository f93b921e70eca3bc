"""What a sink is, and the thread that fills it while runs go on."""

from __future__ import annotations

import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self

from mobench.errors import UserError
from mobench.running.events import Event, Finished
from mobench.store.folder import DamagedRecordError, Store
from mobench.store.record import RunRecord


class Sink(ABC):
    """Takes the curves, the metrics and the settings of finished runs. Each run is in it once."""

    @abstractmethod
    def has(self, id_: str) -> bool:
        """Say whether a run is in it, whole."""

    @abstractmethod
    def add(self, record: RunRecord, suite: str) -> None:
        """Add a run that is done; `suite` is the suite and profile it was planned under."""


def parameters(record: RunRecord) -> dict[str, str | int | float | bool]:
    """Return what a run is, flat, under the names that tables use."""
    spec = record.spec
    parts: dict[str, Mapping[str, Any]] = {
        "problem": spec.problem_settings,
        "method": spec.method_settings,
        "training": spec.training,
    }
    flat = {f"{part}.{name}": value for part, settings in parts.items() for name, value in settings.items()}
    named = {"problem": spec.problem, "method": spec.method, "seed": spec.seed, **flat}
    return {name: value if isinstance(value, (str, int, float)) else str(value) for name, value in named.items()}


def curves(record: RunRecord) -> Iterator[tuple[str, int, float]]:
    """Yield every point of a run's curves as name, step and value; entries that are missing are left out.

    A curve of K numbers is K curves, `losses/NAME` for the losses and `weights/2` and so on for others.
    """
    history = record.outcome.history
    objectives = [name.removeprefix("loss/") for name in record.outcome.metrics if name.startswith("loss/")]
    for name, column in history.items():
        if name == "step":
            continue
        for step, value in zip(history["step"], column, strict=True):
            if isinstance(value, (int, float)):
                yield name, int(step), float(value)
            elif isinstance(value, list):
                named = objectives if name == "losses" and len(objectives) == len(value) else None
                for place, entry in enumerate(value):
                    if isinstance(entry, (int, float)):
                        yield f"{name}/{named[place] if named else place + 1}", int(step), float(entry)


class SinkWriter:
    """Fills sinks from a thread of its own: what is stored already, and what is finished meanwhile."""

    def __init__(self, sinks: Iterable[Sink], store: Store, suites: Mapping[str, str], stored: Iterable[str]) -> None:
        """Take the suite of every planned run by id, and the ids of runs that have their records already."""
        self._sinks = list(sinks)
        self._store = store
        self._suites = suites
        self._queue: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._fill, name="sinks", daemon=True)
        self.error: str | None = None
        """What went wrong, if anything did; the records are not touched by it."""
        for id_ in stored if self._sinks else ():
            self._queue.put(id_)

    def __enter__(self) -> Self:
        if self._sinks:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait until everything is written."""
        self._queue.put(None)
        if self._sinks:
            self._thread.join()

    def update(self, event: Event) -> None:
        """Take in an event."""
        if isinstance(event, Finished) and self._sinks:
            for run in event.runs:
                if run.status == "done":
                    self._queue.put(run.id)

    def _fill(self) -> None:
        try:
            while (id_ := self._queue.get()) is not None:
                for sink in self._sinks:
                    if not sink.has(id_):
                        self._add(sink, id_)
        except Exception as error:  # noqa: BLE001 - whatever a server or another package raises costs no run
            self.error = f"{type(error).__name__}: {error}"

    def _add(self, sink: Sink, id_: str) -> None:
        try:
            record = self._store.load(id_)
        except DamagedRecordError:
            return  # its run is done again
        if record.outcome.status == "done":
            sink.add(record, self._suites[id_])


def missing_extra(key: str, error: ImportError) -> UserError:
    """Build the error for a sink whose package is not installed."""
    return UserError(f"{key}=… needs a package that is not installed: pip install 'mobench[{key}]' ({error.msg})")
