"""Call a function of mobench in a worker process, because foreign code runs in it, and survive what that does."""

from __future__ import annotations

from multiprocessing import connection
from typing import Any

from mobench.errors import UserError
from mobench.running.death import Death
from mobench.running.worker_main import Call, Raised
from mobench.running.worker_process import WorkerProcess

PATIENCE_SECONDS = 60.0
"""How long one step of a call may take: the import of a file, or the reset of a method."""
_WATCH_SECONDS = 0.5


def call_in_worker(function: str, *arguments: Any, seconds: float | None = None) -> Any:
    """Return what `package.module:function` returns for a `Note` and the arguments.

    The function notes what it does next. If it raises, hangs for longer than `seconds`, or takes its process
    down, that becomes a `UserError` which begins with the note, so that it names the file that is to blame.
    """
    seconds = PATIENCE_SECONDS if seconds is None else seconds
    worker = WorkerProcess({})
    try:
        worker.submit(Call(function, arguments))
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
    finally:
        worker.kill(everything=True)
