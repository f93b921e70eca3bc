"""Commands that load plugins or installed packages run in a process of their own; the driver survives what those do.

Reading results needs no torch, so that this is a plain process that starts in a fraction of a second, not a worker of
the fork server. What it prints comes back to this process as text, and is printed here.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from multiprocessing.connection import Connection, Pipe
from typing import Any

from mobench.cli.command import Command
from mobench.core.plain_text import said_by
from mobench.errors import UserError
from mobench.running.death import Death

PATIENCE_SECONDS = 60.0
"""How long the import of one file, or of the installed packages, may take."""
_LOOK_SECONDS = 0.1


def execute(command: Command) -> int:
    """Execute a command, in another process where code that does not ship with mobench would run in this one."""
    from mobench.core.registry import has_installed_packages, plugin_paths

    plugins = _plugins(command)
    if not (plugins or has_installed_packages()):
        return command.execute()
    list(plugin_paths(plugins))  # a path that does not exist needs no process
    return _Guarded(command).run()


def _plugins(command: Command) -> Sequence[str]:
    """Return the files and folders that a command loads."""
    return getattr(command, "plugins", ()) if command.loads == "plugins" else ()


class _Guarded:
    """A command in another process, as this one sees it."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._doing = f"mobench {command.name}"
        self._limited = False
        self._since = time.monotonic()

    def run(self) -> int:
        """Print what the command prints, and return its exit code."""
        from mobench.running.process_tree import children_of, kill_descendants, kill_group

        ours, theirs = Pipe()
        before = frozenset(children_of(os.getpid()))
        line = [sys.executable, "-P", "-c", "from mobench.cli.guarded_command import serve; serve()"]
        with adopt_orphans_meanwhile():
            process = subprocess.Popen(
                [*line, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                stdin=subprocess.DEVNULL,
            )
            theirs.close()
            try:
                ours.send((self._command, _look()))
                return self._follow(ours, process)
            finally:
                kill_group(process.pid)
                process.wait()
                kill_descendants(os.getpid(), spare=before)
                ours.close()

    def _follow(self, channel: Connection, process: subprocess.Popen[bytes]) -> int:
        while True:
            dead = process.poll() is not None  # before looking for what it said last
            try:
                message = json.loads(channel.recv_bytes()) if channel.poll(0.0 if dead else _LOOK_SECONDS) else None
            except (EOFError, ConnectionResetError):
                dead, message = True, None
                process.wait()
            if message is not None:
                if (code := self._take(**message)) is not None:
                    return code
            elif dead:
                raise UserError(f"{self._doing}: {Death(process.returncode)}")
            elif self._limited and time.monotonic() - self._since > PATIENCE_SECONDS:
                raise UserError(f"{self._doing} took longer than {PATIENCE_SECONDS:g} s and was stopped")

    def _take(self, kind: str, said: Any, limited: bool = False) -> int | None:
        """Take in a message; return the exit code once there is one."""
        if kind == "doing":
            self._doing, self._limited, self._since = str(said), limited, time.monotonic()
        elif kind in ("stdout", "stderr"):
            getattr(sys, kind).write(str(said))
        elif kind == "refused":
            raise UserError(str(said))
        elif kind == "raised":
            raise UserError(f"{self._doing} raised {said}")
        return int(said) if kind == "ended" else None


@contextmanager
def adopt_orphans_meanwhile() -> Iterator[None]:
    """Let what a plugin starts and hides become a child of this process, where it is found."""
    from mobench.running.process_tree import adopt_orphans

    adopt_orphans()
    try:
        yield
    finally:
        adopt_orphans(False)


def _look() -> dict[str, Any]:
    """Return what the other process has to know of our terminal."""
    from rich.console import Console

    streams = {"stdout": sys.stdout, "stderr": sys.stderr}
    return {"columns": Console().width, "terminals": [name for name, stream in streams.items() if stream.isatty()]}


def serve() -> None:
    """Execute the command that comes over the channel: the inside of the other process."""
    from mobench.running.process_tree import die_with_parent

    die_with_parent()
    channel = Connection(int(sys.argv[1]))
    os.set_inheritable(channel.fileno(), False)
    os.dup2(2, 1)  # what a plugin prints while it is loaded stands beside the tables, not in them
    command, look = channel.recv()
    os.environ["COLUMNS"] = str(look["columns"])

    def send(kind: str, said: object, **more: object) -> None:
        channel.send_bytes(json.dumps({"kind": kind, "said": said, **more}).encode())

    def note(text: str, limited: bool = True) -> None:
        send("doing", text, limited=limited)

    out, err = (_Stream(name, channel, name in look["terminals"]) for name in ("stdout", "stderr"))
    try:
        _load(note, command)
        with redirect_stdout(out), redirect_stderr(err):
            code = command.execute()
        send("ended", code)
    except UserError as error:
        send("refused", str(error))
    except BaseException as error:  # noqa: BLE001 - whatever foreign code raises is said in one line
        send("raised", said_by(error))
    finally:
        os._exit(0)  # threads and exit handlers of foreign code have nothing more to do


def _load(note: Any, command: Command) -> None:
    """Load foreign code, and say whose it is."""
    from mobench.core.registry import has_installed_packages, load_plugins, methods, plots, plugin_paths, problems

    plugins = _plugins(command)
    for file in plugin_paths(plugins):
        note(f"plugins={file}: importing it")
        load_plugins([file])
    if has_installed_packages():
        note("loading installed packages")
        methods(), len(problems()), plots()
    given = f" with plugins={','.join(plugins)}" if plugins else ""
    note(f"mobench {command.name}{given}", limited=False)


class _Stream(io.TextIOBase):
    """Standard output or error of another process, over a channel."""

    def __init__(self, name: str, channel: Connection, terminal: bool) -> None:
        self._name, self._channel, self._terminal = name, channel, terminal

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    def isatty(self) -> bool:
        return self._terminal

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        said = text.encode("utf-8", "backslashreplace").decode()
        self._channel.send_bytes(json.dumps({"kind": self._name, "said": said}).encode())
        return len(text)
