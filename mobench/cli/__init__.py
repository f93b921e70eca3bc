"""The command line. Only what a command needs is imported, so that help answers at once."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

UNUSABLE = {errno.EACCES, errno.EDQUOT, errno.ENOSPC, errno.ENOTDIR, errno.EPERM, errno.EROFS}
"""What the system says of places that cannot be written: not a defect of mobench, and no traceback helps."""
AGAIN_SECONDS = 0.1
"""When a signal is sent once more that came where Python drops exceptions."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 2 for a mistake in the input, 130 after Ctrl-C and the like."""
    from mobench.errors import UserError

    interrupted = 0
    """The signal that came."""

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = number
        raise KeyboardInterrupt

    def send_again(dropped: UnraisableHookArgs) -> None:
        """Python drops what is raised while an object is deleted; the command would go on."""
        if interrupted and isinstance(dropped.exc_value, KeyboardInterrupt):
            threading.Timer(AGAIN_SECONDS, os.kill, (os.getpid(), interrupted)).start()
        else:
            sys.__unraisablehook__(dropped)

    if arguments is None:
        sys.unraisablehook = send_again
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if arguments is None and signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, note)
    try:
        return _run([*(sys.argv[1:] if arguments is None else arguments)])
    except UserError as error:
        from mobench.core.plain_text import readable

        print(f"mobench: {readable(str(error))}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 141
    except BaseException as error:
        # An interrupted import may end in any error; what was loaded halfway is not to be cleaned up.
        if interrupted:
            print("mobench: interrupted", file=sys.stderr, flush=True)
            remove_folder = getattr(sys.modules.get("mobench.running.fork_server"), "remove_folder", None)
            if remove_folder is not None:
                remove_folder()
            os._exit(130)
        if isinstance(error, OSError) and error.errno in UNUSABLE:
            print(f"mobench: {error.filename or 'the output'}: {error.strerror}", file=sys.stderr)
            return 2
        raise


def _run(given: list[str]) -> int:
    from mobench.cli.command import commands
    from mobench.cli.help import help_of, overview
    from mobench.errors import unknown

    if given[:1] == ["--version"]:
        from importlib.metadata import version

        print(f"mobench {version('mobench')}")
        return 0
    asked = {"-h", "--help"} & set(given)
    words = [word for word in given if not word.startswith("-") and "=" not in word]
    name = next((name for name in (" ".join(words[:2]), *words[:1]) if name in commands()), None)
    if name is not None:
        if asked:
            print(help_of(commands()[name]))
            return 0
        for word in name.split():  # options may stand before it
            given.remove(word)
        command = commands()[name].read(given)
        if command.loads:
            from mobench.cli.guarded_command import execute

            return execute(command)
        return command.execute()
    group = f"{words[0]} " if words and any(known.startswith(f"{words[0]} ") for known in commands()) else ""
    if words[1 if group else 0 :]:
        raise unknown("command", " ".join(words[: 2 if group else 1]), commands())
    print(overview(group), file=sys.stdout if asked else sys.stderr)
    return 0 if asked else 2
