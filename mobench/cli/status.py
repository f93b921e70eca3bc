"""`mobench status`: how far a results folder is, from any terminal or machine that sees it."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from mobench.cli.command import RESULTS, Command
from mobench.core.settings import choice, flag
from mobench.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

WATCH_SECONDS = 2.0
"""How often `watch` looks again; reading takes at most a fifth of the time."""


class Status(Command):
    """Say what is done, running and failed in a results folder, and when it will be finished.

    It may be asked from any terminal or machine that sees the folder, while runs go on and afterwards. With
    `watch=true` it is drawn again until nobody is at work or Ctrl-C; with `format=json` that is a line each time.
    """

    name = "status"
    examples = """
  mobench status
  mobench status results=out watch=true
  mobench status format=json
"""

    results: str = RESULTS
    format: str = choice("table", ("table", "json"), meaning="how to write it")
    watch: bool = flag(False, meaning="draw it again and again while somebody is at work")

    def execute(self) -> int:
        root = Path(self.results)
        if not root.is_dir():
            raise UserError(f"results={root}: there is no such folder")
        if self.format == "json":
            return self._json(root)
        from rich.console import Console

        console = Console(highlight=False)
        return self._watch(console, root) if self.watch else _print(console, root)

    def _json(self, root: Path) -> int:
        import orjson

        from mobench.reporting.status import status_json
        from mobench.running.folder_status import folder_status

        while True:
            began = time.monotonic()
            status = folder_status(root)
            option = orjson.OPT_APPEND_NEWLINE | (0 if self.watch else orjson.OPT_INDENT_2)
            sys.stdout.write(orjson.dumps(status_json(status, root), option=option).decode())
            sys.stdout.flush()
            if not self.watch or not status.at_work:
                return 0
            _wait(began)

    def _watch(self, console: Console, root: Path) -> int:
        from rich.console import Group
        from rich.live import Live

        from mobench.reporting.status import status_lines
        from mobench.running.folder_status import folder_status

        with Live(console=console, auto_refresh=False) as live:
            while True:
                began = time.monotonic()
                status = folder_status(root)
                live.update(Group(*status_lines(status, root, console.width)), refresh=True)
                if not status.at_work:
                    return 0
                _wait(began)


def _print(console: Console, root: Path) -> int:
    from mobench.reporting.status import status_lines
    from mobench.running.folder_status import folder_status

    for line in status_lines(folder_status(root), root, console.width):
        console.print(line)
    return 0


def _wait(began: float) -> None:
    time.sleep(max(WATCH_SECONDS, 4 * (time.monotonic() - began)))
