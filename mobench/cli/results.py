"""`mobench results`: stored results as a table on the terminal, or as a file for other tools."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mobench.cli.command import PLUGINS, RESULTS, SUITES, Command
from mobench.cli.suite_check import refuse_mistakes
from mobench.core.settings import choice, flag, text
from mobench.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from mobench.planning.suite import Suite
    from mobench.store.folder import Store


class Results(Command):
    """Print stored results.

    Without `format`, `view` and `out` these are the tables of every suite, otherwise runs or scores.
    """

    name = "results"
    examples = """
  mobench results suite=escape
  mobench results format=csv view=scores out=scores.csv
"""

    suite: list[str] = SUITES
    profile: str | None = text(None, meaning="only this profile", shown="NAME")
    results: str = RESULTS
    format: str = choice("table", ("table", "csv", "parquet", "json"), meaning="how to write it")
    view: str | None = choice(
        None,
        ("runs", "scores", "budget"),
        meaning="runs: a row per run; scores: a row per problem and method; "
        "budget: expected hypervolume after m configurations",
    )
    out: str | None = text(None, meaning="write to this file; parquet needs one", shown="FILE")
    plugins: list[str] = PLUGINS
    failed: bool = flag(False, meaning="only failed runs, with the last line of each error")

    def execute(self) -> int:
        from mobench.planning.suite import included, load_suite, suite_files

        files = [part for name in self.suite for part in included(name)]
        names = {load_suite(file).name: file for file in files}
        root = Path(self.results)
        if not root.is_dir():
            raise UserError(f"results={root}: there is no such folder")
        if self.format == "parquet" and self.out is None:
            raise UserError("format=parquet is a binary file; say where with out=FILE")
        from mobench.core.registry import load_plugins
        from mobench.scoring.results_table import results_table
        from mobench.store.folder import Store

        load_plugins(self.plugins)
        store = Store(root)
        shipped = {entry.suite: entry.suite for entry in store.manifests() if entry.suite in suite_files()}
        suites = []
        if self.format == "table" and self.view is None and self.out is None and not self.failed:
            found = [(file, one) for name, file in (names or shipped).items() for one in store.profiles(name)]
            suites = [load_suite(file, one) for file, one in found if self.profile in (None, one)]
        refuse_mistakes(suites)
        ids = {id_ for name in names for id_ in store.members(name, self.profile)} if names else None
        table = results_table(store.records(ids, on_damage=lambda damage: print(f"warning: {damage}", file=sys.stderr)))
        if not len(table):
            of = f" of suite {', '.join(names)}" if names else ""
            raise UserError(f"results={root}: there are no stored runs{of}")
        if self.failed:
            table = table[table["status"] == "failed"]
            if self.format == "table":
                return _print_failed(table)
        if suites:
            return _print_reports(suites, store, table)
        return _write(_view(table, self.view or "runs"), self.format, self.out)


def _view(table: pd.DataFrame, view: str) -> pd.DataFrame:
    from mobench.scoring.scores import budget_curves, method_scores

    if view == "runs":
        return table
    return method_scores(table) if view == "scores" else budget_curves(table)


def _print_reports(suites: list[Suite], store: Store, table: pd.DataFrame) -> int:
    from rich.console import Console

    from mobench.reporting.terminal import print_report

    console = Console(highlight=False)
    for suite in suites:
        rows = table[table["id"].isin(store.members(suite.name, suite.profile))]
        print_report(console, suite, rows.dropna(axis=1, how="all"))
    return 0


def _print_failed(table: pd.DataFrame) -> int:
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    for row in table.to_dict("records"):
        reason = str(row["error"]).strip().rpartition("\n")[2]
        console.print(f"{row['id'][:12]}  {row['problem_label']}  {row['method_label']}  seed {row['seed']}: {reason}")
    console.print(f"{len(table)} failed runs; `mobench show RUN` prints the whole traceback")
    return 0


def _write(table: pd.DataFrame, format_: str, out: str | None) -> int:
    import orjson

    try:
        if format_ == "parquet":
            table.to_parquet(out, index=False)
        elif format_ == "csv":
            table.to_csv(out or sys.stdout, index=False)
        elif format_ == "json":
            option = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY
            _put(orjson.dumps(table.to_dict("records"), option=option).decode(), out)
        else:
            _put(table.to_string(index=False, max_colwidth=40), out)
    except OSError as error:
        raise UserError(f"out={out} cannot be written: {error}") from error
    return 0


def _put(content: str, out: str | None) -> None:
    print(content) if out is None else Path(out).write_text(content, encoding="utf-8")
