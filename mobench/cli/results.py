"""`mobench results`: stored results as a table on the terminal, or as a file for other tools."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mobench.errors import UserError
from mobench.planning.overrides import parse_overrides

if TYPE_CHECKING:
    import pandas as pd

    from mobench.store.folder import Store

VIEWS = ("runs", "scores", "budget")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "settings", nargs="*", metavar="key=value", help="suite=NAME[,NAME] profile=NAME results=DIR plugins=PATH"
    )
    parser.add_argument("--format", choices=("table", "csv", "parquet", "json"), default="table")
    parser.add_argument(
        "--view",
        choices=VIEWS,
        help="runs: a row per run; scores: a row per problem and method; "
        "budget: expected hypervolume after m configurations (default: the report of every suite, or runs in a file)",
    )
    parser.add_argument("--out", type=Path, help="write to this file; parquet needs one")
    parser.add_argument("--failed", action="store_true", help="only failed runs, with the last line of each error")


def execute(arguments: argparse.Namespace) -> int:
    """Print or write the results."""
    from mobench.core.registry import load_plugins
    from mobench.planning.suite import load_suite, suite_files
    from mobench.scoring.results_table import results_table
    from mobench.store.folder import Store

    overrides = parse_overrides(arguments.settings, ("suite", "profile", "results", "plugins"))
    load_plugins(overrides.get("plugins", []))
    root = Path(str(overrides.get("results", "results")))
    if not root.is_dir():
        raise UserError(f"results={root}: there is no such folder")
    store = Store(root)
    files = [part for name in overrides.get("suite", []) for part in (load_suite(name).include or (name,))]
    names = {load_suite(file).name: file for file in files}
    ids = {id_ for name in names for id_ in store.members(name, overrides.get("profile"))} if names else None
    table = results_table(store.records(ids, on_damage=lambda damage: print(f"warning: {damage}", file=sys.stderr)))
    if not len(table):
        raise UserError(
            f"results={root}: there are no stored runs" + (f" of suite {', '.join(names)}" if names else "")
        )
    if arguments.failed:
        table = table[table["status"] == "failed"]
        if arguments.format == "table":
            return _print_failed(table)
    if arguments.format == "table" and arguments.view is None and arguments.out is None:
        shipped = {found.suite: found.suite for found in store.manifests() if found.suite in suite_files()}
        if names or shipped:
            return _print_reports(names or shipped, overrides.get("profile"), store, table)
    return _write(_view(table, arguments.view or "runs"), arguments.format, arguments.out)


def _view(table: pd.DataFrame, view: str) -> pd.DataFrame:
    from mobench.scoring.scores import budget_curves, method_scores

    if view == "runs":
        return table
    return method_scores(table) if view == "scores" else budget_curves(table)


def _print_reports(names: dict[str, str], profile: str | None, store: Store, table: pd.DataFrame) -> int:
    from rich.console import Console

    from mobench.planning.suite import load_suite
    from mobench.reporting.terminal import print_report

    console = Console(highlight=False)
    for name, file in names.items():
        for found in store.profiles(name):
            if profile in (None, found):
                rows = table[table["id"].isin(store.members(name, found))]
                print_report(console, load_suite(file, found), rows.dropna(axis=1, how="all"))
    return 0


def _print_failed(table: pd.DataFrame) -> int:
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    for row in table.to_dict("records"):
        reason = str(row["error"]).strip().rpartition("\n")[2]
        console.print(f"{row['id'][:12]}  {row['problem_label']}  {row['method_label']}  seed {row['seed']}: {reason}")
    console.print(f"{len(table)} failed runs; `mobench show RUN` prints the whole traceback")
    return 0


def _write(table: pd.DataFrame, format_: str, out: Path | None) -> int:
    import orjson

    if format_ == "parquet":
        if out is None:
            raise UserError("--format parquet is a binary file; say where with --out FILE")
        table.to_parquet(out, index=False)
    elif format_ == "csv":
        table.to_csv(out or sys.stdout, index=False)
    elif format_ == "json":
        text = orjson.dumps(table.to_dict("records"), option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY).decode()
        if out is None:
            print(text)
        else:
            out.write_text(text, encoding="utf-8")
    else:
        text = table.to_string(index=False, max_colwidth=40)
        print(text if out is None else out.write_text(text, encoding="utf-8"))
    return 0
