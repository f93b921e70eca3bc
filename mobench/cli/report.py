"""`mobench report`: a suite's results as a page, with tables and plots as files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mobench.core.settings import Choice
from mobench.errors import UserError
from mobench.planning.overrides import parse_overrides

if TYPE_CHECKING:
    from mobench.scoring.suite_results import SuiteResults
    from mobench.store.folder import Store
    from mobench.store.manifest import Manifest

EXAMPLES = """
keys:
  suite=NAME[,NAME]            a suite of `mobench list suites`, or a YAML file
  profile=NAME                 only this profile (default: a report for every profile that was run)
  results=DIR                  where records are stored (default: results)
  out=DIR                      where the report goes (default: RESULTS/report/SUITE.PROFILE)
  selection=validation|test    the data on which configurations are selected (default: validation)
  plugins=PATH[,PATH]          Python files or folders with methods, problems and plots of your own

A report is report.md, every table as .csv and .tex, every plot as .svg and .png with its data as .csv.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("settings", nargs="+", metavar="key=value", help="what to report, see below")
    parser.epilog = EXAMPLES


def execute(arguments: argparse.Namespace) -> int:
    """Write the reports and print where they are."""
    from mobench.core.registry import load_plugins
    from mobench.scoring.reading import stored_results
    from mobench.scoring.selection import SELECTIONS
    from mobench.store.atomic import write_atomically
    from mobench.store.folder import Store

    overrides = parse_overrides(arguments.settings, ("suite", "profile", "results", "out", "selection", "plugins"))
    chosen = Choice("validation", "data to select on", SELECTIONS)
    selection = chosen.parse("selection", overrides.get("selection", chosen.default))
    load_plugins(overrides.get("plugins", []))
    root = Path(str(overrides.get("results", "results")))
    if not root.is_dir():
        raise UserError(f"results={root}: there is no such folder; `mobench run` makes one")
    store = Store(root)
    files, profile = _suite_files(overrides.get("suite", []), overrides.get("profile"), store)
    manifests = store.find_manifests(files, profile)
    # Everything is made before anything is written: a mistake leaves no half of a report.
    places = _folders(manifests, root, overrides.get("out"), selection)
    suites = stored_results(store, manifests, files, selection=selection)
    reports = [(folder, _files(results, root)) for folder, results in zip(places, suites, strict=True)]
    for folder, content in reports:
        try:
            for name, text in content.items():
                write_atomically(folder / name, text, sync=False)
        except OSError as error:
            raise UserError(f"out={folder} cannot be written: {error}") from error
        print(f"{folder / 'report.md'}: {len(content)} files")
    return 0


def _suite_files(names: list[str], profile: str | None, store: Store) -> tuple[dict[str, str], str | None]:
    """Return the asked suites by name, with their files, and the profile that is meant.

    A suite that includes others means those that were run here; `auto` becomes the profile that it stands for.
    """
    from mobench.planning.suite import load_suite

    stored = {entry.suite for entry in store.manifests()}
    if not names:
        raise UserError(f"suite=NAME is missing; suites in {store.root}: {', '.join(sorted(stored))}")
    files: dict[str, str] = {}
    for name in names:
        suite = load_suite(name, profile)
        for part in suite.include:
            if part not in stored:
                print(f"{part}: no runs in {store.root}")
        files |= {part: part for part in suite.include if part in stored} if suite.include else {suite.name: name}
    if not files:
        raise UserError(f"results={store.root}: no part of {', '.join(names)} was run")
    return files, None if profile is None else suite.profile


def _folders(manifests: list[Manifest], root: Path, out: str | None, selection: str) -> list[Path]:
    """Return where each report goes; the folder says where configurations were selected on test data."""
    mark = "" if selection == "validation" else f".selected-on-{selection}"
    if out is not None and len(manifests) == 1:
        return [Path(str(out))]
    base = root / "report" if out is None else Path(str(out))
    return [base / f"{manifest.suite}.{manifest.profile}{mark}" for manifest in manifests]


def _files(results: SuiteResults, root: Path) -> dict[str, bytes]:
    from mobench.reporting.plots import draw_plots
    from mobench.reporting.report import report_files

    suite = results.suite
    if not len(results.table) or not len(results.done):
        state = f"all {len(results.table)} stored runs failed" if len(results.table) else "no run is stored yet"
        hint = f"; `mobench results suite={suite.name} --failed` says why" if len(results.table) else ""
        raise UserError(f"results={root}: {suite.name}, profile {suite.profile}: {state}{hint}")
    return report_files(results, draw_plots(suite.plots, results))
