"""`mobench results`: stored results as a table on the terminal, or as a file for other tools."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from mobench.errors import UserError
from mobench.planning.overrides import parse_overrides

if TYPE_CHECKING:
    import pandas as pd

    from mobench.scoring.suite_results import SuiteResults

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
    import pandas as pd

    from mobench.core.registry import load_plugins
    from mobench.scoring.reading import stored_results
    from mobench.scoring.results_table import results_table
    from mobench.scoring.scores import budget_curves, instance_scores
    from mobench.store.folder import Store

    overrides = parse_overrides(arguments.settings, ("suite", "profile", "results", "plugins"))
    load_plugins(overrides.get("plugins", []))
    root = Path(str(overrides.get("results", "results")))
    if not root.is_dir():
        raise UserError(f"results={root}: there is no such folder")
    store = Store(root)
    asked = overrides.get("suite", [])
    files = _suite_files(asked)
    manifests = store.find_manifests(files or None, overrides.get("profile"))
    suites = stored_results(store, manifests, files, on_damage=_warn)
    shown = arguments.view or ("runs" if arguments.format != "table" or arguments.out or arguments.failed else "report")
    if shown == "report" and manifests:
        return _print_reports(suites)
    if shown in ("scores", "budget"):
        view = instance_scores if shown == "scores" else budget_curves
        parts = [view(found).assign(suite=found.suite.name, profile=found.suite.profile) for found in suites]
        return _write(pd.concat(parts, ignore_index=True), arguments.format, arguments.out)
    ids = {id_ for manifest in manifests for id_ in manifest.runs} if asked else None
    table = results_table(store.records(ids, on_damage=_warn))
    if not len(table):
        raise UserError(f"results={root}: there are no stored runs" + (f" of {', '.join(asked)}" if asked else ""))
    if arguments.failed:
        table = table[table["status"] == "failed"]
        if arguments.format == "table":
            return _print_failed(table)
    return _write(table, arguments.format, arguments.out)


def _suite_files(names: list[str]) -> dict[str, str]:
    """Return the asked suites by name, with their files; a suite that includes others means them."""
    from mobench.planning.suite import load_suite

    files = [part for name in names for part in (load_suite(name).include or (name,))]
    return {load_suite(file).name: file for file in files}


def _warn(damage: UserError) -> None:
    print(f"warning: {damage}", file=sys.stderr)


def _print_reports(suites: Iterable[SuiteResults]) -> int:
    from rich.console import Console

    from mobench.reporting.terminal import print_results

    console = Console(highlight=False)
    for results in suites:
        print_results(console, results)
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
