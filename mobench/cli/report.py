"""`mobench report`: a suite's results as one page, with its tables and plots as files."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from mobench.cli.command import PLUGINS, RESULTS, SUITES, Command, names
from mobench.cli.method_runs import check_methods
from mobench.cli.suite_check import refuse_mistakes
from mobench.core.settings import choice, text
from mobench.errors import UserError, unknown

if TYPE_CHECKING:
    from mobench.reporting.pictures import Render
    from mobench.scoring.results import SuiteResults
    from mobench.store.folder import Store


FORMATS = ("svg", "png")


class Report(Command):
    """Write a suite's results as one page that opens in a browser, with its tables for a paper.

    Every experiment has a report of its own, in a folder that names what differs from the suite's profile.
    A report is report.html with pictures inside, tables.tex for booktabs, and tables.csv with all digits;
    `plots=svg,png` writes all plots beside them, each with its numbers as .csv.
    """

    name = "report"
    loads = "plugins"

    suite: list[str] = SUITES
    profile: str | None = text(None, meaning="only this profile; left out: every one that was run", shown="NAME")
    results: str = RESULTS
    out: str | None = text(None, meaning="where the report goes; left out: RESULTS/report/SUITE.PROFILE", shown="DIR")
    selection: str = choice(
        "validation", ("validation", "test"), meaning="the data on which configurations are selected"
    )
    method: list[str] = names(meaning="methods that plots show in colour beside the best five", shown="NAME[,NAME]")
    plots: list[str] = names(meaning="write all plots as files of these formats", shown="svg,png")
    plugins: list[str] = PLUGINS

    def execute(self) -> int:
        from mobench.core.registry import load_plugins
        from mobench.planning.suite import included
        from mobench.reporting.pictures import at_once, beside
        from mobench.scoring.load import read_stored, stored_suites
        from mobench.store.atomic import write_atomically
        from mobench.store.folder import Store

        for kind in self.plots:
            if kind not in FORMATS:
                raise unknown("format of plots", kind, FORMATS)
        parts = {part: name for name in self.suite for part in included(name)}
        root = Path(self.results)
        if not root.is_dir():
            raise UserError(f"results={root}: there is no such folder; `mobench run` makes one")
        load_plugins(self.plugins)
        store = Store(root)
        files, profile = _stored_files(parts, self.profile, store)
        manifests = store.find_manifests(files, profile)
        suites = stored_suites(manifests, files)
        refuse_mistakes(suites)
        # Everything is made before anything is written: a mistake leaves no half of a report.
        found = [
            results
            for suite, manifest in zip(suites, manifests, strict=True)
            for results in read_stored(store, suite, manifest, selection=self.selection)
        ]
        if any(len(results.done) for results in found if len(results.table)):
            for results in [results for results in found if not len(results.table) or not len(results.done)]:
                print(f"{results.suite.name}, profile {results.profile}: no run finished, so there is no report")
                found.remove(results)
        check_methods(self.method, (name for results in found for name in results.methods.values()))
        places = _folders(found, root, self.out)
        many = self.plots or len(found) > 1  # several processes take a second or two to start
        with beside(self.plugins) if many else nullcontext(at_once) as render:
            made = [_files(results, root, self, render) for results in found]
        reports = list(zip(places, made, strict=True))
        for place, content in reports:
            try:
                for name, text in content.items():
                    write_atomically(place / name, text, sync=False)
            except OSError as error:
                raise UserError(f"out={place} cannot be written: {error}") from error
            print(place / "report.html")
        return 0


def _stored_files(parts: dict[str, str], profile: str | None, store: Store) -> tuple[dict[str, str], str | None]:
    """Return the asked suites by name, with their files, and the profile that is meant.

    Of a suite that includes others these are the parts that were run; `auto` becomes the profile that it stands for.
    """
    from mobench.planning.suite import load_suite

    stored = sorted({entry.suite for entry in store.manifests()})
    if not parts:
        raise UserError(f"suite=NAME is missing; suites in {store.root}: {', '.join(stored)}")
    files: dict[str, str] = {}
    meant = profile
    for file, asked in parts.items():
        suite = load_suite(file, profile)
        if file != asked and suite.name not in stored:
            print(f"{suite.name}: no runs in {store.root}")
            continue
        files[suite.name] = file
        meant = None if profile is None else suite.profile
    if not files:
        raise UserError(f"results={store.root}: no part of {', '.join(dict.fromkeys(parts.values()))} was run")
    return files, meant


def _folders(found: list[SuiteResults], root: Path, out: str | None) -> list[Path]:
    """Return where each report goes; the folder says what differs, and whether test data selected configurations."""
    from mobench.reporting.format import file_name

    if out is not None and len(found) == 1:
        return [Path(out)]
    base = root / "report" if out is None else Path(out)
    folders = []
    for results in found:
        marks = [f"selected-on-{results.selection}"] if results.selection != "validation" else []
        differs = [file_name(results.differs)] if results.differs else []
        folders.append(base / ".".join([results.suite.name, results.suite.profile, *differs, *marks]))
    return folders


def _files(results: SuiteResults, root: Path, asked: Report, render: Render) -> dict[str, bytes]:
    from mobench.reporting.html import INSIDE
    from mobench.reporting.plots import draw_plots
    from mobench.reporting.report import report_files

    suite = results.suite
    if not len(results.table) or not len(results.done):
        state = f"all {len(results.table)} stored runs failed" if len(results.table) else "no run is stored yet"
        hint = f"; `mobench results suite={suite.name} --failed` says why" if len(results.table) else ""
        raise UserError(f"results={root}: {suite.name}, profile {results.profile}: {state}{hint}")
    plots = suite.plots if asked.plots else suite.plots[:INSIDE]
    return report_files(results, draw_plots(plots, results, render, asked.method), asked.plots)
