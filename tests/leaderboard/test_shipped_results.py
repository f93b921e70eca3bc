"""The results that ship: whole, current, and those that the findings quote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mobench.leaderboard.site.documents import text_of
from mobench.leaderboard.site.findings import DOCUMENT, read_findings
from mobench.leaderboard.site.reading import read_results
from mobench.leaderboard.site.submissions import read_submissions
from mobench.planning.suite import load_suite
from mobench.reporting.sheets import methods_sheet
from mobench.store.folder import Store

SHIPPED = Path(__file__).parents[2] / "leaderboard" / "submissions"
QUOTED = re.compile(r"\d\.\d{3} \[\d\.\d{3}, \d\.\d{3}\]")
"""A hypervolume with its interval."""
RUN = re.compile(r"mobench run suite=([\w,-]+)(?: profile=([\w-]+) data\.root=DIR)?")


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """By suite and profile, every hypervolume with its interval in the first table that is printed of what ships."""
    warnings: list[str] = []
    found = read_submissions(SHIPPED, None, warnings.append)
    assert not warnings, "a bundle is damaged, or out of date: make results"
    store = Store(tmp_path_factory.mktemp("nothing"))
    texts: dict[tuple[str, str], set[str]] = {}
    for results in read_results(store, {}, found.references, warnings.append):
        cells = (cell.full for row in methods_sheet(results).rows for cell in row)
        texts[results.suite.name, results.profile] = set(filter(QUOTED.fullmatch, cells))
    return texts


@pytest.mark.parametrize("finding", read_findings(text_of(DOCUMENT))[1], ids=lambda finding: finding.anchor)
def test_every_hypervolume_in_the_findings_is_printed_by_its_command(finding, printed):
    quoted = QUOTED.findall(re.sub(r"<[^>]+>|\s+", lambda found: " " if found[0].isspace() else "", finding.answer))
    if quoted:
        runs = [RUN.fullmatch(command) for command in finding.command.split(" && ")]
        assert all(runs), finding.command
        asked = ((name, run[2]) for run in runs for name in run[1].split(","))
        known = [printed[name, profile or load_suite(name, device="cpu").profile] for name, profile in asked]
        assert set(quoted) <= set().union(*known)
