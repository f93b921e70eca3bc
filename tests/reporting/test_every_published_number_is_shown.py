"""Every number of the published files stands beside ours: in the report, on the terminal and on the site.

Only what training gives is made up; plan, tables, page and terminal are those of the published profiles.
"""

from __future__ import annotations

import io
import random
import re
from collections.abc import Iterator
from functools import cache
from html import unescape

import pytest
from rich.console import Console

from mobench.core.outcome import Outcome
from mobench.core.spec import RunSpec
from mobench.leaderboard.site.contender_links import contender_links
from mobench.leaderboard.site.old_tables import SuiteNumbers, SuiteView
from mobench.leaderboard.site.pages import Pages
from mobench.leaderboard.site.suite_numbers import suite_numbers
from mobench.leaderboard.site.suite_page import suite_page
from mobench.leaderboard.site.tables import contenders_table
from mobench.planning.plan import make_plan
from mobench.planning.published_file import read_published
from mobench.planning.suite import load_suite
from mobench.planning.suite_parts import SelectedEntry
from mobench.reporting.report import report_files
from mobench.reporting.terminal import print_results
from mobench.running.environment import environment
from mobench.scoring.published import PublishedValue, load_published
from mobench.scoring.results import SuiteResults
from mobench.store.record import RunRecord
from mobench.store.stored_runs import HeldRuns

SUITES = ("compression", "low-rank", "normalization")
DIAGNOSTICS = ("deviation", "alignment", "primary_norm", "secondary_norm", "slack")
FEW = {
    "methods": ["plain", "pcd", "ws", "mgda", "pcgrad", "cagrad", "famo", "auxinash"],
    "methods.pcd.tau": [0.0, 0.01, 0.02, 0.05],
    "methods.ws.form": "convex",
    "methods.ws.weight": 0.5,
    "methods.cagrad.c": 0.5,
    "methods.auxinash.p": 0.5,
}
"""The paper's methods in short sweeps, with the values that it prints numbers for."""
LOST = "Points of test accuracy lost against plain training"

Line = dict[str, str]
"""A row of a table, by column."""


def trained(spec: RunSpec) -> Outcome:
    """Return an outcome with every metric that the problem declares."""
    draw = random.Random(spec.id)
    metrics = {metric.name: draw.uniform(0.1, 0.9) for metric in spec.build_problem().metrics()}
    timings = {name: metrics.pop(name) for name in list(metrics) if name.startswith("latency_ms")}
    noted = {name: {"mean": draw.random(), "total": 1.0} for name in DIAGNOSTICS if spec.method.startswith("pcd@")}
    return Outcome("done", metrics=metrics, timings={"seconds": 1.0, **timings}, diagnostics=noted)


@cache
def results(suite: str) -> SuiteResults:
    plan = make_plan(load_suite(suite, "paper"), {"seeds": 1, **(FEW if suite != "normalization" else {})})
    here = environment()
    records = [RunRecord(spec, trained(spec), None, here, "then", "now") for spec in plan.specs]
    return SuiteResults.read(plan.suite, HeldRuns(records))


@cache
def report(suite: str) -> dict[str, dict[str, Line]]:
    """Return the tables of the report by title, each by its first column."""
    page = report_files(results(suite), ())["report.html"].decode()
    tables: dict[str, dict[str, Line]] = {}
    for title, table in re.findall(r"<h3>(.*?)</h3>.*?<table>(.*?)</table>", page, re.DOTALL):
        header, *rows = (
            [unescape(re.sub(r"<[^>]*>", " ", cell)).strip() for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
            for row in re.findall(r"<tr.*?</tr>", table)
        )
        tables[unescape(title)] = {row[0]: dict(zip(header, row, strict=True)) for row in rows}
    return tables


def places(suite: str) -> Iterator[tuple[PublishedValue, str, str, SelectedEntry]]:
    """Yield every published number with the instance, the contender and the row of the suite where it belongs."""
    found = results(suite)
    values = load_published(found.suite.published_tables)
    assert values
    for value in values:
        runs = found.table
        for column, wanted in value.where.items():
            runs = runs[runs[column] == wanted]
        (instance,), (contender,) = runs["instance_label"].unique(), runs["contender"].unique()
        rows = [entry for entry in found.suite.selected if entry.value == value.metric and not entry.against]
        assert len(rows) == 1, f"{suite} shows {value.metric} once"
        yield value, instance, contender, rows[0]


@pytest.mark.parametrize("suite", SUITES)
def test_the_report_has_every_published_number_beside_ours(suite: str) -> None:
    tables = report(suite)
    for value, instance, contender, row in places(suite):
        title = f"{row.table or 'Selected configurations'}, {instance}"
        line = tables[title][results(suite).contenders[contender].title]
        assert float(line[f"{row.label}, published"]) * row.unit == pytest.approx(value.value, rel=1e-3)
        (ours,) = [text for column, text in line.items() if column in (f"{row.label} ↑", f"{row.label} ↓")]
        assert float(ours.partition(" ")[0]) >= 0.0


@pytest.mark.parametrize("suite", ("compression", "low-rank"))
def test_numbers_outside_of_the_papers_tables_stand_beside_ours(suite: str) -> None:
    (name,) = results(suite).suite.published_tables
    lines = {line["quantity"].partition(" [")[0]: line for line in report(suite)["Published and measured"].values()}
    quantities = read_published(name).quantities
    assert len(quantities) > 3
    for row in quantities:
        line = lines[row.quantity]
        assert line["paper"] == str(row.paper)
        assert float(line["ours"]) > 0.0


@pytest.mark.parametrize("suite", ("compression", "low-rank"))
def test_the_drop_against_unpruned_networks_is_shown_for_every_instance(suite: str) -> None:
    found = results(suite)
    instances = set(found.table["instance_label"])
    titles = {f"{LOST}, {instance}" for instance in instances}
    assert titles <= report(suite).keys()
    assert site(suite).count(f"{LOST}, ") == len(instances)


@pytest.mark.parametrize("suite", SUITES)
def test_the_terminal_prints_every_published_number(suite: str) -> None:
    console = Console(file=io.StringIO(), width=1000)
    print_results(console, results(suite), everything=True)
    printed = {" ".join(line.split()) for line in console.file.getvalue().splitlines()}
    for value, instance, contender, row in places(suite):
        title = f"{row.table or 'Selected configurations'}, {instance}"
        line = report(suite)[title][results(suite).contenders[contender].title]
        assert " ".join(line.values()) in printed, (value, title)


@cache
def numbers_of(suite: str) -> SuiteNumbers:
    return suite_numbers(results(suite))


@cache
def site(suite: str) -> str:
    pages = Pages(title="t", built="now", version="1", commit="")
    return suite_page(pages, SuiteView(numbers_of(suite), None, list), contender_links([results(suite)]))


@pytest.mark.parametrize("suite", SUITES)
def test_the_site_has_every_published_number_beside_ours(suite: str) -> None:
    numbers = numbers_of(suite)
    labels = {label: instance for instance, label in numbers.instances.items()}
    table = contenders_table(numbers, contender_links([numbers.results]), list(numbers.instances))
    shown: dict[tuple[str, str, str], str] = {}
    for row in table.rows:
        for place, cell in enumerate(row.cells):
            position, instance = divmod(place, len(numbers.instances))
            if cell is not None and cell.published:
                shown[row.name, numbers.measures[position].label, list(numbers.instances)[instance]] = cell.published
    expected = list(places(suite))
    for value, instance, contender, row in expected:
        label = f"{row.table}: {row.label}" if row.table else row.label
        assert float(shown[contender, label, labels[instance]]) * row.unit == pytest.approx(value.value, rel=1e-3)
    assert len(shown) == len(expected) == site(suite).count('<span class="published">')


@pytest.mark.parametrize("suite", ("compression", "low-rank"))
def test_the_site_has_the_papers_form_of_hypervolume_for_every_contender(suite: str) -> None:
    _, found, rest = site(suite).partition("The paper&#39;s hypervolume")
    rows, _, _ = rest.partition("</table>")
    assert found and all(f">{contender}<" in rows for contender in results(suite).order)
