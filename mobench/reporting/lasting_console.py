"""A console whose reader may leave: neither `mobench run … | head -1` nor a closed terminal ends the runs."""

from __future__ import annotations

import errno
import os
import sys
from typing import Any, TextIO

from rich.console import Console

GONE = {errno.EPIPE, errno.EIO}
"""What writing reports when nobody reads any more: of a pipe, of a terminal."""


class LastingFile:
    """A text file that is written as long as somebody reads it; what comes later goes nowhere."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write, if anybody reads."""
        try:
            return self._file.write(text)
        except OSError as error:
            self._lose_reader(error)
            return len(text)

    def flush(self) -> None:
        """Pass on what was written, if anybody reads."""
        try:
            self._file.flush()
        except OSError as error:
            self._lose_reader(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def _lose_reader(self, error: OSError) -> None:
        """Lead the file to nowhere; with a terminal, standard error has lost its reader too."""
        if error.errno not in GONE:
            raise error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for number in {self._file.fileno()} | ({2} if error.errno == errno.EIO else set()):
            os.dup2(nowhere, number)
        os.close(nowhere)


def lasting_console() -> Console:
    """Return a console on standard output that survives its reader."""
    return Console(file=LastingFile(sys.stdout), highlight=False)  # type: ignore[arg-type]
