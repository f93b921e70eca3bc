"""What is measured of methods while a site is built: their batteries, and their arrows in the interactive figure.

This needs torch, which takes half a gigabyte and stays loaded. So a build lets another process do it that ends before
the large tables are made, and what comes back can be read without torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
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


Measure = Callable[[Mapping[str, str]], Measured]
"""Takes the method of every contender."""


def measure_here(contenders: Mapping[str, str]) -> Measured:
    """Measure in this process."""
    known = methods()
    batteries = {name: battery_of(known[name]) for name in sorted({*contenders.values()}) if name in known}
    return Measured(batteries, all_tables(contenders))


def measure_apart(plugins: Iterable[str]) -> Measure:
    """Return a function that measures in a process of its own, which loads the plugins and ends then."""
    return partial(_measure_apart, tuple(plugins))


def _measure_apart(plugins: Sequence[str], contenders: Mapping[str, str]) -> Measured:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=die_with_parent) as pool:
        try:
            return pool.submit(_measure, plugins, contenders).result()
        except BrokenProcessPool as error:
            raise UserError("the process in which methods are measured ended before it was done") from error


def _measure(plugins: Sequence[str], contenders: Mapping[str, str]) -> Measured:
    load_plugins(plugins)
    return measure_here(contenders)
