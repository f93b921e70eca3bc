"""Jobs in this very process, one after the other: for debuggers. A crash ends everything, and Ctrl-C is a Ctrl-C."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from mobench.errors import UserError
from mobench.running.executors.base import Executor, Setup, Share

if TYPE_CHECKING:
    from mobench.running.job import Job, Result
    from mobench.running.machine import Place


class Here(Executor):
    """This process."""

    name = "here"
    meaning = "this process, for debuggers"
    in_this_process: ClassVar[bool] = True

    def open(self, setup: Setup) -> None:
        refuse_limits(setup.limits.seconds, setup.limits.memory_bytes)
        self._setup = setup
        self._finished: list[tuple[Job, Result]] = []

    def places(self, share: Share, uses_device: bool) -> list[Place]:
        from mobench.running.machine import Place, places, visible_devices

        place = places(replace(share, jobs=1), uses_device)[0]
        if place.visible is None or place.device == "cpu":
            return [place]
        # What this process sees was settled when something asked CUDA for the first time.
        return [Place(f"cuda:{visible_devices().index(place.visible)}", None)]

    def has_room(self, uses_device: bool, alone: bool = False) -> bool:
        return not self._finished

    def submit(self, job: Job) -> None:
        from mobench.core.registry import load_plugins
        from mobench.running.fork_server import environment_variables
        from mobench.running.job import Lost
        from mobench.running.worker import perform

        load_plugins(job.plugins)
        (place,) = self.places(self._setup.share, job.uses_device)
        with environment_variables(place.variables):
            result = perform(job, passed_on=(KeyboardInterrupt,), on_steps=partial(self._setup.on_steps, job))
        if isinstance(result, Lost) and result.of_device:
            raise UserError(
                f"{result.reason}: this process cannot use the device any more; the same command goes on, "
                "with jobs=1 in a process that is replaced"
            )
        self._finished.append((job, result))

    def poll(self, seconds: float) -> list[tuple[Job, Result]]:
        finished, self._finished = self._finished, []
        return finished

    def ask_to_stop(self) -> None:
        """Do nothing: between two jobs nothing is under way."""

    def close(self) -> None:
        """Do nothing: between two jobs nothing is under way."""


def refuse_limits(seconds: float | None, memory_bytes: int | None) -> None:
    """Refuse limits that only a worker process can keep."""
    for name, limit in (("time_limit", seconds), ("memory_limit", memory_bytes)):
        if limit is not None:
            raise UserError(f"{name}={limit:g} is not accepted with jobs=0, which runs in this process; use jobs=1")
