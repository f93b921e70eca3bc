"""A console whose reader may leave: `mobench run … | head -1` must not end the runs."""

from __future__ import annotations

import os
import sys
from typing import Any

from rich.console import Console


class LastingConsole(Console):
    """Prints as long as somebody reads, and then to nowhere."""

    def on_broken_pipe(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def lasting_console(**options: Any) -> Console:
    """Return a console that survives its reader."""
    return LastingConsole(highlight=False, **options)
