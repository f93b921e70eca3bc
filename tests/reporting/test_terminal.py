"""Tables on the terminal: within its width, numbers whole, texts taken as they are."""

import io

import pytest
from rich.console import Console

from mobench.reporting.terminal import print_table
from mobench.scoring.contender import Contender
from mobench.scoring.tables import Column, Estimate, Row, Table

LONG = "a-method-with-a-long-name"


def printed(table, width=80, **options):
    text = io.StringIO()
    print_table(Console(file=text, width=width, highlight=False), table, **options)
    return text.getvalue()


def table(columns, **more):
    """Return a table of two contenders whose numbers are the same in every column."""
    cells = [Estimate({0: 0.5, 1: 0.6}), Estimate({0: 0.4, 1: 0.7})]
    kinds = tuple(Column(f"c{place}", f"column {place} of all", decimals=3) for place in range(columns))
    rows = tuple(Row(name, (cell,) * columns, Contender(name)) for name, cell in zip((LONG, "b"), cells, strict=True))
    return Table("t", "title", kinds, rows, **more)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal_and_every_column_is_printed(width):
    lines = printed(table(7), width).splitlines()
    assert max(map(len, lines)) <= width
    assert all(f"column {place} of all" in "".join(lines) for place in range(7))
    assert sum(line.startswith(LONG) for line in lines) == sum(line.startswith("method") for line in lines) > 1
    assert "".join(lines).count("0.550 [0.500, 0.600]") == 7


def test_a_rule_stands_under_those_that_cannot_be_told_from_the_first():
    lines = printed(table(1, leaders=(LONG,)), rule=True).splitlines()
    places = [next(at for at, line in enumerate(lines) if line.startswith(start)) for start in (LONG, "──", "b ")]
    assert places == sorted(places)
    assert "──" not in printed(table(1, leaders=(LONG, "b")), rule=True)


def test_a_sentence_is_folded_and_its_numbers_are_not():
    claim = "what is said to hold of every run " * 4
    shown = printed(Table("claims", "", (Column("n", "n"),), (Row(claim, (123.5,)),), first="claim"), 60)
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 60 and " ".join(shown.split()).count("hold of every") == 4
    assert lines[2].endswith("123.5")


def test_text_of_others_is_printed_as_it_stands():
    shown = printed(Table("t", "title [/red]", (), (Row("[nan, nan]", ()), Row("[/b] mine\x1b[31m", ()))))
    assert all(part in shown for part in ("[nan, nan]", "[/b] mine", "title [/red]")) and "\x1b" not in shown
