"""`mobench report`: a suite's results as a page, with tables and plots as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mobench.cli.command import PLUGINS, RESULTS, SUITES, Command
from mobench.cli.suite_check import refuse_mistakes
from mobench.core.settings import choice, text
from mobench.errors import UserError

if TYPE_CHECKING:
    from mobench.planning.suite import Suite
    from mobench.store.folder import Store


class Report(Command):
    """Write a suite's results as a page with tables and plots.

    A report is report.md, every table as .csv and .tex, every plot as .svg and .png with its data as .csv.
    """

    name = "report"

    suite: list[str] = SUITES
    profile: str | None = text(None, meaning="only this profile; left out: every one that was run", shown="NAME")
    results: str = RESULTS
    out: str | None = text(None, meaning="where the report goes; left out: RESULTS/report/SUITE.PROFILE", shown="DIR")
    selection: str = choice(
        "validation", ("validation", "test"), meaning="the data on which configurations are selected"
    )
    plugins: list[str] = PLUGINS

    def execute(self) -> int:
        from mobench.core.registry import load_plugins
        from mobench.planning.suite import included
        from mobench.store.atomic import write_atomically
        from mobench.store.folder import Store

        parts = {part: name for name in self.suite for part in included(name)}
        root = Path(self.results)
        if not root.is_dir():
            raise UserError(f"results={root}: there is no such folder; `mobench run` makes one")
        load_plugins(self.plugins)
        store = Store(root)
        suites = _suites(parts, self.profile, store)
        refuse_mistakes(suites)
        # Everything is made before anything is written: a mistake leaves no half of a report.
        places = _folders(suites, root, self.out, self.selection)
        reports = [(folder, _files(suite, store, self.selection)) for suite, folder in places]
        for folder, files in reports:
            try:
                for name, content in files.items():
                    write_atomically(folder / name, content, sync=False)
            except OSError as error:
                raise UserError(f"out={folder} cannot be written: {error}") from error
            print(f"{folder / 'report.md'}: {len(files)} files")
        return 0


def _suites(parts: dict[str, str], profile: str | None, store: Store) -> list[Suite]:
    """Return the suites under every profile that was run here; of an including one, the parts that were run."""
    from mobench.errors import unknown
    from mobench.planning.suite import load_suite

    stored = sorted({entry.suite for entry in store.manifests()})
    if not parts:
        raise UserError(f"suite=NAME is missing; suites in {store.root}: {', '.join(stored)}")
    found = []
    for name, asked in parts.items():
        suite = load_suite(name, profile)  # `auto` becomes the profile that it stands for
        if name != asked and suite.name not in stored:
            print(f"{suite.name}: no runs in {store.root}")
            continue
        profiles = store.profiles(suite.name)
        if profile is not None and suite.profile not in profiles:
            raise unknown(f"profile of {name} in {store.root}:", suite.profile, profiles)
        found += [load_suite(name, one) for one in profiles if profile is None or one == suite.profile]
    if not found:
        raise UserError(f"results={store.root}: no part of {', '.join(dict.fromkeys(parts.values()))} was run")
    return found


def _folders(suites: list[Suite], root: Path, out: str | None, selection: str) -> list[tuple[Suite, Path]]:
    """Return where each report goes; the folder says where configurations were selected on test data."""
    mark = "" if selection == "validation" else f".selected-on-{selection}"
    if out is not None and len(suites) == 1:
        return [(suites[0], Path(str(out)))]
    base = root / "report" if out is None else Path(str(out))
    return [(suite, base / f"{suite.name}.{suite.profile}{mark}") for suite in suites]


def _files(suite: Suite, store: Store, selection: str) -> dict[str, bytes]:
    from mobench.reporting.plots import Source, draw_plots
    from mobench.reporting.report import report_files
    from mobench.scoring.results_table import results_table

    members = store.members(suite.name, suite.profile)
    table = results_table(store.records(members))
    if not len(table) or not (table["status"] == "done").any():
        state = f"all {len(table)} stored runs failed" if len(table) else "no run is stored yet"
        hint = f"; `mobench results suite={suite.name} --failed` says why" if len(table) else ""
        raise UserError(f"results={store.root}: {suite.name}, profile {suite.profile}: {state}{hint}")
    source = Source.of(suite, table, lambda: store.records(members), selection)
    pictures = draw_plots(suite.plots, source)
    return report_files(suite, table, pictures, planned=len(members), selection=selection)
