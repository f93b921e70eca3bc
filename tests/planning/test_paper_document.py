"""The table of the paper's statements names each of them, with a command that exists, and every claim of the suites."""

import re
from pathlib import Path

import pytest

from mobench.planning.suite import load_suite

TEXT = (Path(__file__).parents[2] / "docs" / "paper.md").read_text(encoding="utf-8")
TABLES, LIST = TEXT.split("## All labels")
LABEL = r"(?:ass|def|thm|cor|corr|prop|lem|rem|alg|fig|tab):[\w-]+"
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")] for line in TABLES.splitlines() if line.startswith("| `")
]


def test_every_label_of_the_paper_has_a_place_in_the_tables():
    listed = re.findall(LABEL, LIST)
    assert len(listed) == len(set(listed)) == 57
    named = [label for row in ROWS for label in re.findall(f"`({LABEL})`", " ".join(row[:2]))]
    assert sorted(named) == sorted(listed), "each is named once"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip("`"))
def test_a_row_has_a_command_that_exists_and_a_result(row):
    _, _, command, result = row
    assert re.match(r"(holds( through rounding|:|;|,| for |$)|differs: |not run: |definition[:;])", result), result
    for names, profile in re.findall(r"suite=([\w,-]+)(?: profile=([\w-]+))?", command + result):
        assert all(load_suite(name, profile or None, device="cpu").methods for name in names.split(","))
    words = command.strip("`").split()
    assert words == ["–"] or words[:2] in (["mobench", "run"], ["mobench", "check"], ["mobench", "leaderboard"])


@pytest.mark.parametrize("suite", ["escape", *load_suite("theory").include])
def test_what_a_suite_claims_of_the_paper_stands_in_the_table(suite):
    shown = "".join(cell for row in ROWS if re.search(rf"\b{suite}\b", row[2] + row[3]) for cell in row)
    claimed = {name for claim in load_suite(suite).claims for name in re.findall("“(.+?)”", claim.source)}
    assert claimed and not (missing := {name for name in claimed if name not in TEXT}), missing
    assert shown, "the suite is the command of a row"
