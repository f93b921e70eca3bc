"""The results that ship: whole, current, and those that the findings quote."""

from __future__ import annotations

import io
import math
import re
from pathlib import Path

import pytest
from rich.console import Console

from mobench.leaderboard.site.contender_links import contender_links
from mobench.leaderboard.site.documents import text_of
from mobench.leaderboard.site.findings import DOCUMENT, read_findings
from mobench.leaderboard.site.ranking import fullest_profiles, rank
from mobench.leaderboard.site.reading import read_results
from mobench.leaderboard.site.submissions import read_submissions
from mobench.planning.suite import load_suite
from mobench.reporting.format import lines_of
from mobench.reporting.terminal import print_results
from mobench.scoring.headline import AIM
from mobench.scoring.tables import number_of
from mobench.store.folder import Store
from mobench.submissions.verdict_file import read_verdicts

SHIPPED = Path(__file__).parents[2] / "leaderboard" / "submissions"
QUOTED = re.compile(r"\d\.\d{3} \[\d\.\d{3}, \d\.\d{3}\]")
"""A hypervolume with its interval."""
RANK = re.compile(r"\d+\.\d\d \[\d+\.\d\d, \d+\.\d\d\]")
"""A mean rank with its interval."""
RUN = re.compile(r"mobench run suite=([\w,-]+)(?: profile=([\w-]+) data\.root=DIR)?")


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """The results of every suite that ships."""
    warnings: list[str] = []
    found = read_submissions(SHIPPED, None, warnings.append)
    assert not warnings, "a bundle is damaged, or out of date: make results"
    store = Store(tmp_path_factory.mktemp("nothing"))
    return list(read_results(store, {}, found.references, warnings.append))


@pytest.fixture(scope="module")
def printed(shipped):
    """By suite and profile, every hypervolume with its interval in the first table that is printed of what ships."""
    texts: dict[tuple[str, str], set[str]] = {}
    for results in shipped:
        cells = (text for line in lines_of(results.headline) for text in line)
        texts[results.suite.name, results.profile] = set(filter(QUOTED.fullmatch, cells))
    return texts


def in_order(numbers, direction):
    finite = [number for number in numbers if math.isfinite(number)]
    best_first = sorted(finite, reverse=direction == "max")
    return finite == best_first and not any(map(math.isfinite, numbers[len(finite) :]))


def test_printed_order_is_the_order_of_numbers(shipped):
    """Of every suite, on a terminal of 80 columns and in every table of the model that documents are made of."""
    ranked = 0
    for results in shipped:
        console = Console(file=io.StringIO(), width=80)
        print_results(console, results, more="mobench results view=all")
        lines = console.file.getvalue().splitlines()
        assert max(map(len, lines)) <= 80
        if AIM in (column.key for column in results.headline.columns):
            titles = [row.title for row in results.headline.rows]
            found = [next(line for line in lines if line.startswith(f"{title}  ")) for title in titles]
            assert [line for line in lines if line in found] == found
            numbers = [float(line.removeprefix(title).split()[0]) for title, line in zip(titles, found, strict=True)]
            assert in_order(numbers, results.headline.direction)
            ranked += 1
        for table in results.tables:
            columns = table.ranked_by or [column.key for column in table.columns if column.direction][:1]
            if table.direction is not None and len(columns) == 1:
                assert in_order([number_of(value) for value in table.column(columns[0])], table.direction), table.title
    assert ranked == 23 and len(shipped) == 27


def words_of(finding):
    return re.sub(r"<[^>]+>|\s+", lambda found: " " if found[0].isspace() else "", finding.answer)


@pytest.mark.parametrize("finding", read_findings(text_of(DOCUMENT))[1], ids=lambda finding: finding.anchor)
def test_every_hypervolume_in_the_findings_is_printed_by_its_command(finding, printed):
    quoted = QUOTED.findall(words_of(finding))
    if quoted:
        runs = [RUN.fullmatch(command) for command in finding.command.split(" && ")]
        assert all(runs), finding.command
        asked = ((name, run[2]) for run in runs for name in run[1].split(","))
        known = [printed[name, profile or load_suite(name, device="cpu").profile] for name, profile in asked]
        assert set(quoted) <= set().union(*known)


def test_the_mean_ranks_in_the_findings_are_those_of_the_front_page(shipped):
    first, *_ = read_findings(text_of(DOCUMENT))[1]
    overall = rank(fullest_profiles(shipped), contender_links(shipped))
    quoted = RANK.findall(words_of(first))
    assert overall is not None and quoted
    assert set(quoted) <= {f"{row.rank} {row.interval}" for row in overall.rows}


def test_what_is_kept_of_repeated_runs_is_about_bundles_that_ship():
    kept = read_verdicts(SHIPPED.parent / "verdicts.json").values()
    assert {verdict.bundle for verdict in kept} <= {path.name for path in SHIPPED.iterdir()}


def test_the_readme_shows_what_the_demo_prints(shipped):
    (digits,) = (found for found in shipped if (found.suite.name, found.suite.profile) == ("compression", "digits"))
    console = Console(file=io.StringIO(), width=80)
    print_results(console, digits)
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    shown = (SHIPPED.parents[1] / "README.md").read_text(encoding="utf-8").partition("```text\n")[2].partition("```")[0]
    assert shown in "\n".join(lines)
