"""`mobench show RUN`: one stored run, whole."""

from __future__ import annotations

import argparse
from pathlib import Path

from mobench.planning.overrides import parse_overrides


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("run", metavar="RUN", help="the run's id, or enough of its beginning")
    parser.add_argument("settings", nargs="*", metavar="results=DIR", help="where records are stored")
    parser.add_argument("--json", action="store_true", help="print the stored record as it is")


def execute(arguments: argparse.Namespace) -> int:
    """Print the run."""
    from rich.console import Console

    from mobench.reporting.terminal import print_record
    from mobench.store.folder import Store

    overrides = parse_overrides(arguments.settings, ("results",))
    store = Store(Path(str(overrides.get("results", "results"))))
    record = store.load(arguments.run)
    if arguments.json:
        print(store.path(record.id).read_text(encoding="utf-8"))
    else:
        print_record(Console(highlight=False), record)
    return 0
