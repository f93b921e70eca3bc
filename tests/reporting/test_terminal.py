"""Tables on the terminal: best first where it is known which way is better, with a legend, texts taken as they are."""

import io
from dataclasses import replace

from rich.console import Console

from mobench.reporting.sheet import Cell, Sheet, number_cell
from mobench.reporting.terminal import _best_first, _rows_of, print_sheet


def cell(text):
    """A cell as the sheets make it: with its number, if it has one."""
    try:
        return Cell(text, value=float(text))
    except ValueError:
        return Cell(text)


def sheet(header, rows, title="Numbers"):
    return Sheet("numbers", title, header, tuple(tuple(map(cell, row)) for row in rows), None)


def first_column(found):
    return [row[0].text for row in found.rows]


def test_rows_are_sorted_by_the_first_column_that_has_a_direction():
    rows = [("a", "1", "5"), ("b", "–", "9"), ("c", "3", "1"), ("d", "3", "0"), ("e", "failed", "0")]
    assert first_column(_best_first(sheet(("method", "HV ↑", "size ↓"), rows))) == ["c", "d", "a", "b", "e"]
    assert first_column(_best_first(sheet(("method", "size ↓", "HV ↑"), rows))) == ["a", "c", "d", "b", "e"]


def test_a_table_of_one_metric_is_sorted_by_its_mean_and_one_without_direction_stays():
    rows = [("a", "4", "5"), ("b", "1e-3", "2"), ("c", "–", "1.5")]
    header = ("method", "k=2", "k=3")
    assert first_column(_best_first(sheet(header, rows, "norms ↓"))) == ["b", "c", "a"]
    assert first_column(_best_first(sheet(header, rows, "x at the end"))) == ["a", "b", "c"]


def test_numbers_that_are_rounded_alike_are_still_told_apart():
    rows = [(Cell(name), number_cell(value, value, value, 3)) for name, value in (("ws", 0.653642), ("nash", 0.653815))]
    table = Sheet("numbers", "", ("method", "HV ↑"), tuple(rows), None)
    assert {row[1].text for row in table.rows} == {"0.654"}
    assert first_column(_best_first(table)) == ["nash", "ws"]


def test_rows_that_are_no_contenders_stay_below_the_best():
    table = replace(sheet(("method", "HV ↑"), [("a", "1"), ("b", "2"), ("nsga-2", "3")]), below=1)
    assert first_column(_best_first(table)) == ["b", "a", "nsga-2"]


def test_only_contenders_that_are_not_asked_for_are_left_out():
    table = sheet(("method", "x"), [("pcd(tau=0.1)", "1"), ("ws", "2"), ("ws(weight=0.5)", "3"), ("nsga-2", "4")])
    assert first_column(_rows_of(table, set())) == ["pcd(tau=0.1)", "ws", "ws(weight=0.5)", "nsga-2"]
    assert first_column(_rows_of(table, {"ws"})) == ["pcd(tau=0.1)", "nsga-2"]


def test_text_of_others_is_printed_as_it_stands():
    text = io.StringIO()
    print_sheet(Console(file=text, width=100), sheet(("method",), [("[nan, nan]",), ("[/b] mine",)], "title [/red]"))
    assert all(part in " ".join(text.getvalue().split()) for part in ("[nan, nan]", "[/b] mine", "title [/red]"))


def test_a_long_name_is_folded_rather_than_a_number_with_its_interval():
    text = io.StringIO()
    row = (Cell("a-method-with-a-long-name(setting=value)"), Cell("3"), Cell("0.562", interval="[0.523, 0.599]"))
    table = Sheet("numbers", "", ("method", "configurations", "hypervolume ↑"), (row,), None)
    print_sheet(Console(file=text, width=60), table, intervals=True)
    assert "0.562 [0.523, 0.599]" in text.getvalue()
