"""Tables on the terminal: best first where it is known which way is better, with a legend, texts taken as they are."""

import io

from rich.console import Console

from mobench.reporting.sheet import Cell, Sheet
from mobench.reporting.terminal import _best_first, print_sheet


def sheet(header, rows, title="Numbers"):
    return Sheet("numbers", title, header, tuple(tuple(map(Cell, row)) for row in rows), None)


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
