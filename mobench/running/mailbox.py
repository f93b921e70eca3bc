"""Letters between a driver and its pilots: small files in a folder that both see, each written by one side alone."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mobench.running.job import Job, Result, Steps
from mobench.running.parcel import PluginFile
from mobench.store.atomic import refresh, write_atomically
from mobench.store.folder import read_regular


@dataclass(frozen=True)
class Order:
    """What the driver wants of a pilot. A pilot does each order once, however often it is restarted."""

    number: int
    job: Job
    plugins: tuple[PluginFile, ...]


@dataclass(frozen=True)
class News:
    """What a pilot says of itself."""

    state: Literal["idle", "busy", "queued again"]
    number: int
    """The order that it has, or had last; 0 before the first."""
    host: str
    version: str | None
    """Its mobench."""
    result: Result | None = None
    """What came of that order."""
    steps: Steps | None = None
    """How far that order is."""


class Mailbox:
    """The letters of one pilot."""

    def __init__(self, folder: Path, pilot: int) -> None:
        self.folder = folder
        self._order = folder / f"{pilot}.order"
        self._news = folder / f"{pilot}.news"
        self._stop = folder / f"{pilot}.stop"
        self._leave = folder / f"{pilot}.leave"

    def give(self, order: Order) -> None:
        """Tell the pilot what to do."""
        _write(self._order, order)

    def order(self) -> Order | None:
        """Return what the driver told last."""
        order: Order | None = _read(self._order)
        return order

    def tell(self, news: News) -> None:
        """Tell the driver how things are; a folder that is gone belongs to no driver any more."""
        if self.folder.is_dir():
            _write(self._news, news)

    def news(self) -> News | None:
        """Return what the pilot said last, None before its first word."""
        news: News | None = _read(self._news)
        return news

    def ask_to_stop(self, number: int) -> None:
        """Ask the pilot to save the state of an order and to stop."""
        _write(self._stop, number)

    def is_to_stop(self, number: int) -> bool:
        """Say whether the pilot is asked to stop that order."""
        return bool(_read(self._stop) == number)

    def ask_to_leave(self) -> None:
        """Ask the pilot to end."""
        _write(self._leave, True)

    def is_to_leave(self) -> bool:
        """Say whether nobody needs the pilot any more."""
        return not self.folder.is_dir() or bool(_read(self._leave))


def _write(path: Path, content: Any) -> None:
    write_atomically(path, pickle.dumps(content), sync=False)


def _read(path: Path) -> Any:
    refresh(path.parent)
    content = read_regular(path)
    return None if content is None else pickle.loads(content)
