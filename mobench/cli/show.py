"""`mobench show RUN`: one stored run, whole."""

from __future__ import annotations

from pathlib import Path

from mobench.cli.command import RESULTS, Command
from mobench.core.settings import flag, text

RUN = text(None, meaning="the run's id, or enough of its beginning", shown="RUN")


class Show(Command):
    """Print one stored run."""

    name = "show"
    words = ("run",)

    run: str = RUN
    results: str = RESULTS
    json: bool = flag(False, meaning="print the stored record as it is")

    def execute(self) -> int:
        self.need("run")
        from rich.console import Console

        from mobench.reporting.terminal import print_record
        from mobench.store.folder import Store

        store = Store(Path(self.results))
        record = store.load(self.run)
        if self.json:
            print(store.path(record.id).read_text(encoding="utf-8"))
        else:
            print_record(Console(highlight=False), record)
        return 0
