"""The command line. Only what a command needs is imported, so that help answers at once."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version

COMMANDS = {
    "run": "run a suite, or what is missing of it",
    "list": "list methods, problems or suites",
    "results": "print stored results",
    "show": "print one stored run",
    "report": "write a suite's results as a page with tables and plots",
    "leaderboard": "build the site of all results, show it, or verify submissions",
    "submit": "write the results of a method as one file, for the leaderboard",
    "export": "write what a stored run trained, e.g. a compressed network, to a file",
    "check": "test a method or problem, ours or yours, against the shared battery",
}
"""Every command is a module of this package with `configure` and `execute`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 2 for a mistake in the input."""
    from mobench.errors import UserError

    given = [*(sys.argv[1:] if arguments is None else arguments)]
    parser = argparse.ArgumentParser(
        prog="mobench", description="A benchmark suite for multi-objective optimizers in deep learning."
    )
    parser.add_argument("--version", action="version", version=f"mobench {version('mobench')}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(
            name, help=purpose, description=purpose, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if given[:1] == [name]:
            import_module(f"mobench.cli.{name}").configure(command)
    try:
        parsed = parser.parse_args(given)
        code: int = import_module(f"mobench.cli.{parsed.command}").execute(parsed)
    except UserError as error:
        print(f"mobench: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 141
    return code
