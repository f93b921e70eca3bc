"""What is measured of methods while a site is built: their batteries, and their arrows in the interactive figure.

This needs torch, which takes half a gigabyte and stays loaded. So a build lets another process do it that ends before
the large tables are made, and what comes back can be read without torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

from mobench.core.registry import load_plugins, methods
from mobench.errors import UserError
from mobench.running.process_tree import die_with_parent

from .cards import Battery, battery_of
from .directions import Turned, all_tables


@dataclass(frozen=True)
class Measured:
    """What was measured of methods."""

    batteries: Mapping[str, Battery]
    """By method."""
    tables: Mapping[str, Turned]
    """By contender, see `directions`."""


Measure = Callable[[Mapping[str, str]], Callable[[], Measured]]
"""Takes the method of every contender, and returns a function that waits for what is measured."""


def measure_here(contenders: Mapping[str, str]) -> Callable[[], Measured]:
    """Measure in this process."""
    return partial(_measured, contenders)


@contextmanager
def measuring_apart(plugins: Iterable[str]) -> Iterator[Measure]:
    """Give a function that measures in a process of its own, which loads the plugins and ends when it has measured.

    The process loads torch at once, while this one still reads results.
    """
    listed = tuple(plugins)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=die_with_parent) as pool:
        pool.submit(_ready)

        def measure(contenders: Mapping[str, str]) -> Callable[[], Measured]:
            begun = pool.submit(_measure, listed, contenders)

            def wait() -> Measured:
                try:
                    return begun.result()
                except BrokenProcessPool as error:
                    raise UserError("the process in which methods are measured ended before it was done") from error
                finally:
                    pool.shutdown()

            return wait

        yield measure


def _ready() -> None:
    """Load torch and the methods before contenders come."""
    import torch  # noqa: F401

    methods()


def _measure(plugins: Sequence[str], contenders: Mapping[str, str]) -> Measured:
    load_plugins(plugins)
    return _measured(contenders)


def _measured(contenders: Mapping[str, str]) -> Measured:
    known = methods()
    batteries = {name: battery_of(known[name]) for name in sorted({*contenders.values()}) if name in known}
    return Measured(batteries, all_tables(contenders))
