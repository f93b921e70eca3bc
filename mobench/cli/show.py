"""`mobench show NAME`: one stored run, whole, or the runs of a method."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mobench.cli.command import RESULTS, Command
from mobench.core.settings import flag, text
from mobench.errors import UserError

if TYPE_CHECKING:
    from mobench.store.folder import Store

RUN = text(None, meaning="the run's id, or enough of its beginning", shown="RUN")


class Show(Command):
    """Print one stored run, or a row for every run of a method.

    `mobench results method=NAME` prints the method's rows in the tables of all suites.
    """

    name = "show"
    loads = "packages"
    words = ("run",)
    examples = """
  mobench show 3fa9c1
  mobench show pcd
"""

    run: str = text(None, meaning="a run's id, or enough of its beginning; or a method", shown="RUN|METHOD")
    results: str = RESULTS
    json: bool = flag(False, meaning="print the stored record of a run as it is")

    def execute(self) -> int:
        self.need("run")
        from rich.console import Console

        from mobench.reporting.terminal import print_record
        from mobench.store.folder import Store

        store = Store(Path(self.results))
        if self._print_method(store):
            return 0
        record = store.load(self.run)
        if self.json:
            print(store.path(record.id).read_text(encoding="utf-8"))
        else:
            print_record(Console(highlight=False), record)
        return 0

    def _print_method(self, store: Store) -> bool:
        """Print the runs of the method of this name, and say whether there is one."""
        if _may_be_id(self.run):
            return False
        from mobench.cli.method_runs import runs_of, short
        from mobench.scoring.load import memberships, stored_suites
        from mobench.scoring.runs import runs_table

        table = runs_table(store.columns(None, "all"))
        if not len(table):
            raise UserError(f"results={store.root}: there are no stored runs")
        rows = runs_of([self.run], table)
        if self.json:
            raise UserError(f"--json prints one run; '{self.run}' is a method with {len(rows)} runs")
        manifests = store.find_manifests(None, None)
        experiments = memberships(store, stored_suites(manifests, {}), manifests)
        print(short(experiments.merge(rows, on="id", how="right")).to_string(index=False, max_colwidth=40))
        done = int((rows["status"] == "done").sum())
        print(f"{self.run}: {len(rows)} stored runs, {done} finished, {len(rows) - done} failed")
        return True


def _may_be_id(name: str) -> bool:
    """Ids are written in hexadecimal digits."""
    return all(letter in "0123456789abcdef" for letter in name.lower())
