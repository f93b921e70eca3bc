"""`mobench results`: stored results as a table on the terminal, or as a file for other tools."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from mobench.cli.command import PLUGINS, RESULTS, SUITES, Command, names
from mobench.cli.method_runs import check_methods, runs_of, short
from mobench.cli.suite_check import refuse_mistakes
from mobench.core.settings import choice, flag, text
from mobench.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from mobench.planning.suite import Suite
    from mobench.scoring.results import SuiteResults
    from mobench.store.folder import Store


class Results(Command):
    """Print stored results.

    Without `format`, `view` and `out` this is who is first in every suite, otherwise its tables, runs or scores.
    """

    name = "results"
    loads = "plugins"
    examples = """
  mobench results suite=escape
  mobench results suite=escape view=all
  mobench results method=pcd,mgda
  mobench results format=csv view=scores out=scores.csv
"""

    suite: list[str] = SUITES
    method: list[str] = names(meaning="only these methods; places are among all", shown="NAME[,NAME]")
    profile: str | None = text(None, meaning="only this profile", shown="NAME")
    results: str = RESULTS
    format: str = choice("table", ("table", "csv", "parquet", "json"), meaning="how to write it")
    view: str | None = choice(
        None,
        ("all", "runs", "scores", "budget"),
        meaning="all: every table of a suite; runs: a row per run and experiment; "
        "scores: a row per problem and method; budget: expected hypervolume after m configurations",
    )
    out: str | None = text(None, meaning="write to this file; parquet needs one", shown="FILE")
    plugins: list[str] = PLUGINS
    failed: bool = flag(False, meaning="only failed runs, with the last line of each error")

    def execute(self) -> int:
        from mobench.running.heap import without_collection

        with without_collection():  # of many runs there are a million objects, and all are needed
            return self._execute()

    def _execute(self) -> int:
        from mobench.planning.suite import included, load_suite

        files = {load_suite(part).name: part for name in self.suite for part in included(name)}
        root = Path(self.results)
        if not root.is_dir():
            raise UserError(f"results={root}: there is no such folder")
        if self.format == "parquet" and self.out is None:
            raise UserError("format=parquet is a binary file; say where with out=FILE")
        from mobench.core.registry import load_plugins
        from mobench.scoring.load import memberships, read_stored, stored_suites
        from mobench.store.folder import Store

        load_plugins(self.plugins)
        store = Store(root)
        manifests = store.find_manifests(files or None, self.profile)
        plain = self.format == "table" and self.out is None and not self.failed
        view = self.view or ("tables" if plain and manifests else "runs")
        suites = stored_suites(manifests, files)
        if view == "runs":
            ids = {id_ for manifest in manifests for id_ in manifest.runs} if files or self.profile else None
            return self._runs(store, ids, memberships(store, suites, manifests))
        refuse_mistakes(suites)
        found = [
            results
            for suite, manifest in zip(suites, manifests, strict=True)
            for results in read_stored(store, suite, manifest, on_damage=_warn)
        ]
        check_methods(self.method, (name for results in found for name in results.methods.values()))
        if view == "tables" or (view == "all" and plain):
            return _print_tables(found, self.method, view == "all", self.results)
        return self._all(found) if view == "all" else self._scores(found)

    def _runs(self, store: Store, ids: set[str] | None, experiments: pd.DataFrame) -> int:
        from mobench.scoring.runs import runs_table

        table = runs_table(store.columns(ids, "all", on_damage=_warn))
        if not len(table):
            of = f" of suite {', '.join(self.suite)}" if self.suite else ""
            raise UserError(f"results={store.root}: there are no stored runs{of}")
        table = runs_of(self.method, table)
        if self.failed:
            table = table[table["status"] == "failed"]
            if self.format == "table":
                return _print_failed(table)
        named = experiments.merge(table, on="id", how="right")
        if self.format == "table" and self.out is None:
            named = short(named)
        return _write(named, self.format, self.out)

    def _all(self, suites: Iterable[SuiteResults]) -> int:
        import pandas as pd

        parts = []
        for found in suites:
            hidden = {name for name, method in found.methods.items() if self.method and method not in self.method}
            named = {"suite": found.suite.name, "profile": found.suite.profile, "experiment": found.differs}
            for table in found.tables if len(found.table) else ():
                lines = table.frame()
                parts.append(lines[~lines["row"].isin(hidden)].astype(object).assign(**named))
        return _write(pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(), self.format, self.out)

    def _scores(self, suites: Iterable[SuiteResults]) -> int:
        import pandas as pd

        from mobench.scoring.budget import budget_curves, instance_scores

        scored = instance_scores if self.view == "scores" else budget_curves
        parts = []
        for found in suites:
            if len(found.table):
                scores = scored(found)
                wanted = scores["contender"].map(found.methods).isin(self.method or [*found.methods.values()])
                named = {"suite": found.suite.name, "profile": found.suite.profile, "experiment": found.differs}
                parts.append(scores[wanted].assign(**named))
        return _write(pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(), self.format, self.out)


def _warn(damage: UserError) -> None:
    print(f"warning: {damage}", file=sys.stderr)


def command_for_all(suite: Suite, root: str) -> str:
    """Return the command that prints every table of a suite."""
    where = "" if root == Results.settings["results"].default else f" results={root}"
    return f"mobench results suite={suite.file or suite.name}{where} view=all"


def _print_tables(suites: Iterable[SuiteResults], methods: Collection[str], everything: bool, root: str) -> int:
    from rich.console import Console

    from mobench.reporting.terminal import print_results

    console = Console(highlight=False)
    for results in suites:
        more = command_for_all(results.suite, root)
        print_results(console, results, methods, everything=everything, more=more)
    return 0


def _print_failed(table: pd.DataFrame) -> int:
    from rich.console import Console
    from rich.text import Text

    from mobench.core.plain_text import last_line, plain

    console = Console(highlight=False, soft_wrap=True)
    for row in table.to_dict("records"):
        reason = last_line(str(row["error"]))
        line = f"{row['id'][:12]}  {row['problem_label']}  {row['method_label']}  seed {row['seed']}: {reason}"
        console.print(Text(plain(line)))
    console.print(f"{len(table)} failed runs; `mobench show RUN` prints the whole traceback")
    return 0


def _write(table: pd.DataFrame, format_: str, out: str | None) -> int:
    from mobench.store.atomic import replacing

    if out is None:
        _put(table, format_, None)
        return 0
    try:
        with replacing(Path(out)) as file:
            _put(table, format_, file)
    except OSError as error:
        raise UserError(f"out={out} cannot be written: {error.strerror or error}") from error
    return 0


def _put(table: pd.DataFrame, format_: str, out: Path | None) -> None:
    import orjson

    from mobench.reporting.csv import write_csv

    if format_ == "parquet":
        table.to_parquet(out, index=False)
    elif format_ == "csv":
        write_csv(table, out or sys.stdout)
    else:
        content = table.to_string(index=False, max_colwidth=40)
        if format_ == "json":
            option = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY
            content = orjson.dumps(table.to_dict("records"), option=option).decode()
        print(content) if out is None else out.write_text(content, encoding="utf-8")
