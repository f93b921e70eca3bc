"""`mobench compare`: two methods against each other in stored results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mobench.cli.command import PLUGINS, RESULTS, SUITES, Command
from mobench.core.settings import choice, text
from mobench.errors import UserError

if TYPE_CHECKING:
    from mobench.scoring.pairs import Pair


class Compare(Command):
    """Compare two methods, paired by seed, with an exact test.

    They are compared on what their suites rank by. A name is that of a row in `mobench results`: a method, or a form
    of one such as "ws(form=penalty)".
    """

    name = "compare"
    loads = "plugins"
    words = ("first", "second")
    examples = """
  mobench compare pcd mgda
  mobench compare pcd "ws(form=penalty)" suite=compression
"""

    first: str | None = text(None, meaning="one method", shown="A")
    second: str | None = text(None, meaning="the other method", shown="B")
    suite: list[str] = SUITES
    profile: str | None = text(None, meaning="only this profile", shown="NAME")
    results: str = RESULTS
    format: str = choice("table", ("table", "csv", "json"), meaning="how to print it")
    plugins: list[str] = PLUGINS

    def execute(self) -> int:
        self.need("first")
        self.need("second")
        root = Path(self.results)
        if not root.is_dir():
            raise UserError(f"results={root}: there is no such folder; `mobench run` makes one")
        from mobench.core.registry import load_plugins
        from mobench.planning.suite import included, load_suite
        from mobench.scoring.load import read_stored, stored_suites
        from mobench.scoring.pairs import compare_pair
        from mobench.store.folder import Store

        load_plugins(self.plugins)
        files = {load_suite(part).name: part for name in self.suite for part in included(name)}
        store = Store(root)
        manifests = store.find_manifests(files or None, self.profile)
        suites = stored_suites(manifests, files)
        found = [
            contest
            for suite, manifest in zip(suites, manifests, strict=True)
            for results in read_stored(store, suite, manifest)
            for contest in results.contests
        ]
        pair = compare_pair(found, str(self.first), str(self.second))
        if self.format == "table":
            _print(pair)
        else:
            from mobench.reporting.csv import csv_text

            frame = pair.frame.assign(first=pair.first, second=pair.second)
            print(csv_text(frame) if self.format == "csv" else frame.to_json(orient="records", indent=2))
        return 0


def _print(pair: Pair) -> None:
    from rich.console import Console
    from rich.text import Text

    from mobench.reporting.notes import verdict_on_pair
    from mobench.reporting.terminal import print_table
    from mobench.scoring.pairs import pair_tables

    console = Console(highlight=False)
    for table in pair_tables(pair):
        print_table(console, table)
    console.print(
        Text(
            "Means over seeds; in brackets a 95 % bootstrap interval; p from an exact signed-rank test over seeds, "
            "adjusted for the number of contests (Holm).",
            style="dim",
        )
    )
    console.print(Text(verdict_on_pair(pair)))
