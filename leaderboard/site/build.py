"""From results to a site: everything is computed and written beside the place of the site, then put there."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

from mobench.errors import UserError
from mobench.reporting.pictures import Render, at_once
from mobench.running.environment import environment
from mobench.scoring.catalog import MetricCatalog
from mobench.store.folder import Store
from mobench.submissions.verdict_file import read_verdicts

from .contender_links import ContenderLink, contender_links
from .details import details
from .directions import directions_page, directions_rows
from .documents import PAGES, document, title_of
from .download_page import download_page
from .downloads import all_runs, write_results
from .findings import DOCUMENT, PAGE, findings_page
from .index_page import index_page
from .markers import marker_styles
from .measuring import Measure, Measured, measure_here
from .method_costs import PAGE as COSTS_PAGE
from .method_costs import costs_page, method_costs
from .old_tables import Ranking, Shown, SuiteNumbers, SuiteView
from .opening_picture import begin_opening
from .output import MARKER, SiteFolder, check_place, replacing
from .pages import ASSETS, Pages
from .pictures import begin_ranking, begin_suite, write_pictures
from .ranking import fullest_profiles, rank
from .reading import read_results, stem_of
from .script_data import script_of
from .search import search_entries
from .subject_pages import method_pages, problem_pages
from .submissions import read_submissions
from .suite_numbers import suite_numbers
from .suite_page import suite_page

Say = Callable[[str], None]


@dataclass(frozen=True)
class SiteOptions:
    """What a site is built from, and where."""

    results: Path
    out: Path
    submissions: Path | None = None
    verified: Path | None = None
    verdicts: Path | None = None
    title: str = "mobench"


def build_site(
    options: SiteOptions, say: Say = print, render: Render = at_once, measure: Measure = measure_here
) -> None:
    """Build the site; a mistake in the input is found before the place of the site is touched.

    `render` and `measure` may do their work elsewhere, see `reporting/pictures.py` and `measuring.py`.
    """
    check_place(options.out)
    kept = {} if options.verdicts is None else read_verdicts(options.verdicts)
    submissions = read_submissions(options.submissions, options.verified, say, kept)
    store = Store(options.results)
    results = list(read_results(store, submissions.parts, submissions.references, say))
    if not results:
        raise UserError(f"results={options.results}: there are no stored runs; `mobench run suite=plane` makes some")
    links = contender_links(results)
    measuring = measure({name: link.method for name, link in links.items()})
    overall = rank(fullest_profiles(results), links)
    all_numbers = [suite_numbers(found) for found in results]
    measured = measuring()  # before anything is drawn: the memory that measuring takes is free again then
    with replacing(options.out) as folder:
        drawn = [begin_suite(found, render) for found in results]
        opening = partial(write_pictures, folder, "all", "", begin_opening(render))
        methods_of = {name: link.method for name, link in links.items()}
        ranks = partial(write_pictures, folder, "all", "All suites", begin_ranking(overall, methods_of, render))
        for numbers in all_numbers:
            _write_details(folder, numbers)
        views = []
        for numbers, wait in zip(all_numbers, drawn, strict=True):
            found = numbers.results
            key = found.suite.name, found.suite.profile
            reference = None if found.differs else submissions.references.get(key)
            pictures = partial(write_pictures, folder, stem_of(found), found.suite.title, wait)
            views.append(SuiteView(numbers, rank([found], links), pictures, reference))
        _write_pages(folder, options, views, overall, links, submissions.sources, measured, opening, ranks)
        _write_assets(folder, links)


def _write_details(folder: SiteFolder, numbers: SuiteNumbers) -> None:
    stem = stem_of(numbers.results)
    for instance, contender, detail in details(numbers):
        number = numbers.files[instance, contender]
        folder.write(f"data/{stem}/{number}.js", script_of(f"{stem}/{number}", detail))


def _write_pages(
    folder: SiteFolder,
    options: SiteOptions,
    views: list[SuiteView],
    overall: Ranking | None,
    links: dict[str, ContenderLink],
    sources: Mapping[str, str],
    measured: Measured,
    opening: Callable[[], list[Shown]],
    ranks: Callable[[], list[Shown]],
) -> None:
    """Write the pages, first those without pictures: these may still be drawn."""
    built = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    code = environment().code or {}
    commit = f"{str(code.get('commit', ''))[:12]}{' with changes' if code.get('dirty') else ''}"
    pages = Pages(title=options.title, built=built, version=version("mobench"), commit=commit if code else "")
    table = all_runs(view.results for view in views)
    metrics = MetricCatalog(problem for view in views for problem in view.results.problems.values())
    sizes = write_results(table, metrics, folder.root / "data")
    downloads = download_page(pages, table, metrics, sizes, folder)
    del table
    arrows = directions_rows(measured.tables, folder)
    costs = method_costs(views)
    written = {
        "number.html": pages.render("number.html", "number.html", "One number"),
        "downloads.html": downloads,
        "directions.html": directions_page(pages, arrows),
        **{
            page: pages.render("document.html", page, title_of(name), body=document(name))
            for name, page in PAGES.items()
            if name != DOCUMENT
        },
        **dict(method_pages(pages, views, overall, links, sources, measured.batteries)),
        **dict(problem_pages(pages, views, links)),
        **{f"suites/{stem_of(view.results)}.html": suite_page(pages, view, links) for view in views},
        PAGE: findings_page(pages, title_of(DOCUMENT), views),
        "index.html": index_page(
            pages, views, overall, links, COSTS_PAGE if costs else "", arrows, opening()[0], ranks()
        ),
        **({COSTS_PAGE: costs_page(pages, costs)} if costs else {}),
    }
    for name, text in written.items():
        folder.write(name, text)
    folder.write("data/search.js", script_of("search", search_entries(views, links)))
    folder.write(
        MARKER, json.dumps({"generator": "mobench leaderboard", "version": version("mobench"), "built": built})
    )
    folder.write(".nojekyll", "")


def _write_assets(folder: SiteFolder, links: dict[str, ContenderLink]) -> None:
    folder.write("assets/methods.css", marker_styles(sorted(links)))
    for file in sorted(ASSETS.iterdir()):
        if file.is_file() and file.suffix in (".css", ".js", ".svg"):
            folder.write(f"assets/{file.name}", file.read_bytes())
