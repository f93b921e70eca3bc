"""Call functions of mobench in a worker process, because of foreign code or a device, and survive what that does."""

from __future__ import annotations

from collections.abc import Mapping
from multiprocessing import connection
from types import TracebackType
from typing import Any

from mobench.errors import UserError
from mobench.running.death import Death
from mobench.running.worker_main import Call, Raised
from mobench.running.worker_process import WorkerProcess

PATIENCE_SECONDS = 60.0
"""How long one step of a call may take: the import of a file, or the reset of a method."""
_WATCH_SECONDS = 0.5


def call_in_worker(function: str, *arguments: Any, seconds: float | None = None) -> Any:
    """Return what `package.module:function` returns for a `Note` and the arguments; see `Caller.answer`."""
    with Caller() as caller:
        caller.begin(function, *arguments)
        return caller.answer(seconds)


class Caller:
    """A worker process, with an environment of its own, that calls one function after the other."""

    def __init__(self, variables: Mapping[str, str] | None = None) -> None:
        self._worker = WorkerProcess(variables or {})

    def __enter__(self) -> Caller:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._worker.kill(everything=True)

    def begin(self, function: str, *arguments: Any) -> None:
        """Let the process call `package.module:function` with a `Note` and the arguments."""
        self._worker.submit(Call(function, arguments))

    def answer(self, seconds: float | None = None) -> Any:
        """Return what the function returned.

        It notes what it does next. If it raises, hangs for longer than `seconds`, or takes its process
        down, that becomes a `UserError` which begins with the note, so that it names the file that is to blame.
        """
        worker, seconds = self._worker, PATIENCE_SECONDS if seconds is None else seconds
        while (answer := worker.poll()) is None:
            connection.wait(worker.waitables, _WATCH_SECONDS)
            if worker.limited and worker.seconds() > seconds:
                raise UserError(f"{worker.doing} took longer than {seconds:g} s and was stopped")
        if isinstance(answer, Death):
            raise UserError(f"{worker.doing}: {answer}")
        if isinstance(answer, Raised):
            if answer.users:
                raise UserError(answer.sentence)
            if worker.doing == "ready":
                raise RuntimeError(f"a worker process failed:\n{answer.trace}")
            raise UserError(f"{worker.doing} {answer.sentence}")
        return answer.value
