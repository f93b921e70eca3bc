"""`mobench report`: a suite's results as a page, with tables and plots as files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mobench.core.settings import Choice
from mobench.errors import UserError
from mobench.planning.overrides import parse_overrides

if TYPE_CHECKING:
    from mobench.planning.suite import Suite
    from mobench.store.folder import Store

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
    suites = _suites(overrides.get("suite", []), overrides.get("profile"), store)
    # Everything is made before anything is written: a mistake leaves no half of a report.
    places = _folders(suites, root, overrides.get("out"), selection)
    reports = [(folder, _files(suite, store, selection)) for suite, folder in places]
    for folder, files in reports:
        try:
            for name, content in files.items():
                write_atomically(folder / name, content, sync=False)
        except OSError as error:
            raise UserError(f"out={folder} cannot be written: {error}") from error
        print(f"{folder / 'report.md'}: {len(files)} files")
    return 0


def _suites(names: list[str], profile: str | None, store: Store) -> list[Suite]:
    """Return the named suites, or their parts, under every profile that was run here."""
    from mobench.errors import unknown
    from mobench.planning.suite import load_suite

    if not names:
        stored = sorted({entry.suite for entry in store.manifests()})
        raise UserError(f"suite=NAME is missing; suites in {store.root}: {', '.join(stored)}")
    found = []
    parts = [part for name in names for part in _parts(load_suite(name), name, store)]
    for name in parts:
        suite = load_suite(name, profile)  # `auto` becomes the profile that it stands for
        profiles = store.profiles(suite.name)
        if profile is not None and suite.profile not in profiles:
            raise unknown(f"profile of {name} in {store.root}:", suite.profile, profiles)
        found += [load_suite(name, one) for one in profiles if profile is None or one == suite.profile]
    if not found:
        raise UserError(f"results={store.root}: no part of {', '.join(names)} was run")
    return found


def _parts(suite: Suite, name: str, store: Store) -> list[str]:
    """Return the suites that make up this one, as far as they were run here, or its own name."""
    if not suite.include:
        return [name]
    stored = {entry.suite for entry in store.manifests()}
    for part in suite.include:
        if part not in stored:
            print(f"{part}: no runs in {store.root}")
    return [part for part in suite.include if part in stored]


def _folders(suites: list[Suite], root: Path, out: str | None, selection: str) -> list[tuple[Suite, Path]]:
    """Return where each report goes; the folder says where configurations were selected on test data."""
    mark = "" if selection == "validation" else f".selected-on-{selection}"
    if out is not None and len(suites) == 1:
        return [(suites[0], Path(str(out)))]
    base = root / "report" if out is None else Path(str(out))
    return [(suite, base / f"{suite.name}.{suite.profile}{mark}") for suite in suites]


def _files(suite: Suite, store: Store, selection: str) -> dict[str, bytes]:
    from mobench.reporting.plots import draw_plots
    from mobench.reporting.report import report_files
    from mobench.scoring.suite_results import SuiteResults

    members = store.members(suite.name, suite.profile)
    results = SuiteResults.read(suite, lambda: store.records(members), planned=len(members), selection=selection)
    table = results.table
    if not len(table) or not (table["status"] == "done").any():
        state = f"all {len(table)} stored runs failed" if len(table) else "no run is stored yet"
        hint = f"; `mobench results suite={suite.name} --failed` says why" if len(table) else ""
        raise UserError(f"results={store.root}: {suite.name}, profile {suite.profile}: {state}{hint}")
    pictures = draw_plots(suite.plots, results)
    return report_files(suite, table, pictures, planned=len(members), selection=selection)
