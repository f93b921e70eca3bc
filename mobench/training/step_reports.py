"""How far training is, told now and then to whoever listens in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

REPORT_SECONDS = 0.5
"""The loop tells at most this often, so that telling costs nothing."""

Listener = Callable[[int, int, int, float], None]
"""Gets the steps taken, their total, how many were taken before this process began, and the seconds since then."""

_listener: Listener | None = None


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Within this block the training loop tells `listener` how far it is."""
    global _listener
    before, _listener = _listener, listener
    try:
        yield
    finally:
        _listener = before


def tell(step: int, total: int, first: int, seconds: float) -> None:
    """Tell how far the loop is, if anybody listens."""
    if _listener is not None:
        _listener(step, total, first, seconds)
