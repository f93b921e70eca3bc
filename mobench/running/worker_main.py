"""The inside of a worker process: it settles in, and answers one message after the other."""

from __future__ import annotations

import faulthandler
import importlib
import os
import select
import signal
import threading
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from multiprocessing import connection, forkserver, parent_process
from multiprocessing.connection import Connection
from typing import Any, Protocol

from mobench.core import cuda
from mobench.core.plain_text import first_said_by, said_by
from mobench.core.registry import ignore_installed_packages, load_plugins, methods, problems
from mobench.core.resources import resources
from mobench.errors import UserError
from mobench.running.heap import give_back_freed_memory, keep_freed_memory
from mobench.running.job import Job, Lost, Result, Steps
from mobench.running.process_tree import die_with_parent
from mobench.running.worker import perform
from mobench.training.stopping import is_device_fault, request_stop

STOP = signal.SIGUSR1
"""Asks a worker to save its state and to stop."""
SHOW_STACK = signal.SIGUSR2
"""Asks a worker to write down where it is."""


@dataclass(frozen=True)
class Call:
    """A function of mobench to call in a worker, because foreign code runs in it."""

    function: str
    """Where it is: `package.module:function`. It gets a `Note` and the arguments."""
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Doing:
    """What a call does next, in words that continue: `…: importing it took too long`."""

    text: str
    limited: bool = True
    """Whether it may take only so long: it is foreign code."""


@dataclass(frozen=True)
class Returned:
    """The value of a call."""

    value: Any


@dataclass(frozen=True)
class Raised:
    """What a call raised: a sentence for people, and for errors of mobench itself the way there."""

    sentence: str
    trace: str = ""
    users: bool = False
    """Whether the sentence is complete as it stands."""


class Note(Protocol):
    """How a call says what it does next."""

    def __call__(self, text: str, limited: bool = True) -> None: ...


def serve(channel: Connection, trace: int, variables: Mapping[str, str]) -> None:
    """Do what comes over the channel until its other end is closed; `trace` takes the stack of a dying process."""
    _settle_in(trace, variables)
    channel.send(Doing("ready"))
    while True:
        try:
            message = channel.recv()
        except (EOFError, ConnectionResetError):
            return
        channel.send(_do(message, channel) if isinstance(message, Job) else _call(message, channel))


def _do(job: Job, channel: Connection) -> Result | Raised:
    """Train and store; what fails then is no run's fault."""
    if not job.foreign and not job.plugins:
        ignore_installed_packages()
    try:
        load_plugins(job.plugins)
        # What the first run would load otherwise, at the cost of its memory figure.
        methods()
        len(problems())
    except UserError as error:
        return Lost(str(error))
    give_back_freed_memory()
    if job.uses_device and (reason := _why_no_device()):
        return Lost(f"no CUDA device: {reason}", cause="no device")
    try:
        return perform(job, on_steps=lambda steps: _report(steps, channel))
    except Exception as error:  # noqa: BLE001 - the scheduling process has to know, whatever it is
        if is_device_fault(error):
            return Lost(first_said_by(error), traceback.format_exc(), cause="device")
        return Raised(said_by(error), traceback.format_exc())


@cache
def _why_no_device() -> str:
    """Return why this process cannot compute on the CUDA device that it was promised; empty if it can."""
    device = resources().device
    promised = device.startswith("cuda") or (device == "auto" and cuda.cuda_device_count() > 0)
    return (cuda.why_unusable("cuda") or cuda.why_faulty("cuda")) if promised else ""


def _report(steps: Steps, channel: Connection) -> None:
    """Send how far training is; if nobody has read for so long that the pipe is full, training does not wait."""
    if select.select([], [channel], [], 0)[1]:
        channel.send(steps)


def _call(call: Call, channel: Connection) -> Returned | Raised:
    module, _, name = call.function.partition(":")
    try:
        function = getattr(importlib.import_module(module), name)
        return Returned(function(lambda text, limited=True: channel.send(Doing(text, limited)), *call.arguments))
    except UserError as error:
        return Raised(str(error), users=True)
    except BaseException as error:  # noqa: BLE001 - whatever foreign code raises is said in one line
        return Raised(f"raised {said_by(error)}", traceback.format_exc())


def _settle_in(trace: int, variables: Mapping[str, str]) -> None:
    """Make this process one that can be stopped at any moment and that leaves nothing behind."""
    os.setsid()  # Ctrl-C is the scheduling process's business, and what is started here can be found
    die_with_parent()
    os.environ.update(variables)
    os.close(forkserver._forkserver._forkserver_alive_fd)  # type: ignore[attr-defined]
    forkserver._forkserver._forkserver_alive_fd = None  # type: ignore[attr-defined]
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(STOP, lambda number, frame: request_stop())
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    faulthandler.enable(trace)
    faulthandler.register(SHOW_STACK, trace)
    os.dup2(2, 1)  # what a plugin prints stands beside the tables, not in them
    threading.Thread(target=_leave_with_the_driver, daemon=True).start()
    keep_freed_memory()


def _leave_with_the_driver() -> None:
    """End this process when the scheduling process is gone, should the system not have done so."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
