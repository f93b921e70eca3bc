"""What is measured of methods while a site is built: their batteries, and their arrows in the interactive figure.

This needs torch, which takes half a gigabyte and stays loaded. So a build lets another process do it, while it reads
and ranks; that one ends before anything is drawn, and what comes back can be read without torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection

from mobench.core.module_path import forget_module_path, same_module_path
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

    The process loads torch at once and begins with the methods that ship, while this one still reads results. It is
    killed when the block ends: a mistake in the input is answered without waiting for it.
    """
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_answer, args=(theirs, tuple(plugins)), daemon=True)
    with same_module_path():
        process.start()
    theirs.close()

    def measure(contenders: Mapping[str, str]) -> Callable[[], Measured]:
        with suppress(OSError):  # one that has ended is noticed by who waits for it
            ours.send(dict(contenders))
        return wait

    def wait() -> Measured:
        try:
            found: Measured | UserError = ours.recv()
        except (EOFError, OSError) as error:
            raise UserError("the process in which methods are measured ended before it was done") from error
        process.join()
        if isinstance(found, UserError):
            raise found
        return found

    try:
        yield measure
    finally:
        process.kill()
        process.join()


def _answer(connection: Connection, plugins: Sequence[str]) -> None:
    """Load what measuring needs, and measure once."""
    import torch  # noqa: F401

    die_with_parent()
    forget_module_path()
    for method in methods().values():
        if connection.poll():
            break  # now it is known which ones are asked for
        battery_of(method)
    all_tables(())
    contenders = connection.recv()
    try:
        load_plugins(plugins)
        connection.send(_measured(contenders))
    except UserError as error:
        connection.send(error)


def _measured(contenders: Mapping[str, str]) -> Measured:
    known = methods()
    batteries = {name: battery_of(known[name]) for name in sorted({*contenders.values()}) if name in known}
    return Measured(batteries, all_tables(contenders))
