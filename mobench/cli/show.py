"""`mobench show NAME`: one stored run, whole, or the runs of a method."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobench.cli.command import RESULTS, Command
from mobench.core.settings import flag, text
from mobench.errors import UserError

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from mobench.store.folder import Store
    from mobench.store.record import RunRecord

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

        from mobench.store.folder import Store

        store = Store(Path(self.results))
        if self._print_method(store):
            return 0
        record = store.load(self.run)
        if self.json:
            print(store.path(record.id).read_text(encoding="utf-8"))
        else:
            _print_record(Console(highlight=False), record)
        return 0

    def _print_method(self, store: Store) -> bool:
        """Print the runs of the method of this name, and say whether there is one."""
        if _may_be_id(self.run):
            return False
        from mobench.cli.method_runs import runs_of
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
        named = experiments.merge(rows, on="id", how="right")
        for _, part in named.groupby(["suite", "profile", "experiment"], sort=False, dropna=False):
            _print_runs(part)
        done = int((rows["status"] == "done").sum())
        print(f"{self.run}: {len(rows)} stored runs, {done} finished, {len(rows) - done} failed")
        return True


def _may_be_id(name: str) -> bool:
    """Ids are written in hexadecimal digits."""
    return all(letter in "0123456789abcdef" for letter in name.lower())


def _print_runs(runs: pd.DataFrame) -> None:
    """Print a line for every run of a method in one experiment."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from mobench.core.plain_text import last_line, plain

    first = runs.iloc[0]
    differs = f" with {first['experiment']}" if first["experiment"] else ""
    heading = (
        f"{first['suite']}, profile {first['profile']}{differs}" if runs["suite"].notna().all() else "no experiment"
    )
    table = Table(title=Text(plain(heading), style="bold"), title_justify="left", box=None, pad_edge=False)
    for column in ("run", "problem", "method", "seed", "result"):
        table.add_column(column, overflow="fold", no_wrap=column in ("run", "seed"), justify="left")
    for run in runs.to_dict("records"):
        result = "done" if run["status"] == "done" else f"failed: {last_line(str(run['error']))}"
        cells = (run["id"][:12], run["problem_label"], run["method_label"], run["seed"], result)
        table.add_row(*(Text(plain(str(cell))) for cell in cells))
    Console(highlight=False).print(table)


def _print_record(console: Console, record: RunRecord) -> None:
    """Print one stored run: what it was, what it measured, what it cost and where it ran."""
    from dataclasses import asdict

    from rich.text import Text

    from mobench.core.plain_text import plain, readable
    from mobench.reporting.format import number

    spec, outcome = record.spec, record.outcome
    costs = {**outcome.timings, "backward_passes": outcome.backward_passes}
    sections: dict[str, Mapping[str, Any]] = {
        f"problem {spec.problem}": spec.problem_settings,
        f"method {spec.method}": spec.method_settings,
        "training": {**spec.training, "seed": spec.seed},
        "metrics": outcome.metrics,
        "diagnostics, mean over steps": {name: value["mean"] for name, value in outcome.diagnostics.items()},
        "cost": {**costs, "peak_memory_bytes": record.peak_memory},
        **{name: of for name, of in asdict(record.environment).items() if isinstance(of, Mapping)},
    }
    named = [f"{name}: " for entries in sections.values() for name in entries]
    width = min(max(map(len, named), default=0), 32)
    console.print(Text(f"run {record.id[:12]}: {outcome.status}", style="bold"))
    for section, entries in sections.items():
        if entries:
            console.print(Text(plain(section), style="bold"))
        for name, value in entries.items():
            console.print(Text(plain(f"  {f'{name}: ':{width}}{number(value)}")))
    if outcome.error:
        console.print(Text(readable(outcome.error)))
