"""The model of a table: one order, contenders that are values, estimates that keep what they are made of."""

import math

import pytest

from mobench.scoring.contender import Contender
from mobench.scoring.tables import Column, Estimate, Range, Row, Table, number_of

NAN = math.nan


def table(values, columns=(("m", "max"),), **more):
    made = tuple(Column(key, key, key, best) for key, best in columns)
    return Table("t", "t", made, tuple(Row(name, tuple(cells)) for name, cells in values.items()), **more)


def order(found):
    return [row.label for row in found.sorted().rows]


def test_rows_are_sorted_by_the_first_column_that_has_a_direction():
    values = {"a": (1.0, 5.0), "b": (NAN, 9.0), "c": (3.0, 1.0), "d": (3.0, 0.0), "e": (None, 0.0)}
    assert order(table(values, (("m", "max"), ("s", "min")))) == ["c", "d", "a", "b", "e"]
    assert order(table(values, (("x", None), ("s", "min")))) == ["d", "e", "c", "a", "b"]
    assert order(table(values, (("x", None), ("s", None)))) == [*values]


def test_a_table_of_one_metric_is_sorted_by_its_mean():
    values = {"a": (4.0, 5.0), "b": (1e-3, 2.0), "c": (None, 1.5)}
    both = (("k=2", "min"), ("k=3", "min"))
    assert order(table(values, both, ranked_by=("k=2", "k=3"))) == ["b", "c", "a"]
    assert order(table(values, both, ranked_by=())) == [*values]


def test_numbers_that_are_rounded_alike_are_still_told_apart():
    values = {"ws": (Estimate({0: 0.653642}),), "nash": (Estimate({0: 0.653815}),)}
    assert order(table(values)) == ["nash", "ws"]


def test_reference_rows_stay_below():
    found = table({"a": (1.0,), "b": (2.0,)}, references=(Row("nsga-2", (3.0,)),)).sorted()
    assert [row.label for row in (*found.rows, *found.references)] == ["b", "a", "nsga-2"]


def test_columns_and_rows_are_picked_by_name():
    found = table({"a": (1.0, 2.0), "b": (3.0, 4.0)}, (("x", "max"), ("y", None)))
    assert [row.cells for row in found.only(["y"]).rows] == [(2.0,), (4.0,)]
    assert found.cell("b", "x") == 3.0 and found.column("y") == [2.0, 4.0]


def test_a_frame_has_a_line_for_every_value():
    found = table({"a": (Estimate({0: 1.0, 1: 3.0}, "id", "tau=1", missing=1),), "b": (Range(1.0, 2.0),), "c": (None,)})
    first, second = found.frame().to_dict("records")
    assert (first["value"], first["seeds"], first["missing"], first["configuration"]) == (2.0, 2, 1, "id")
    assert 1.0 <= first["low"] <= 2.0 <= first["high"] <= 3.0
    assert (second["low"], second["high"]) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("settings", "label", "title"),
    [
        ((), "ws", "Weighted sum"),
        ((("form", "penalty"),), "ws(form=penalty)", "Weighted sum (form=penalty)"),
        ((("form", "penalty"), ("weight", 0.5)), "ws(form=penalty, weight=0.5)", "Weighted sum (penalty, weight=0.5)"),
        ((("weight", (0.5, 1.0)),), "ws(weight=0.5/1)", "Weighted sum (weight=0.5/1)"),
    ],
)
def test_a_contender_is_a_value_with_a_label_and_a_name_for_people(settings, label, title):
    made = Contender("ws", settings)
    assert (made.label, made.title) == (label, title)
    assert made == Contender("ws", settings) and len({made, Contender("ws", settings)}) == 1
    assert Contender("not-installed").title == "not-installed"


def test_the_number_behind_a_value():
    assert [number_of(value) for value in (Estimate({0: 1.0, 1: 2.0}), 3, 2.5)] == [1.5, 3.0, 2.5]
    assert all(math.isnan(number_of(value)) for value in (Estimate(), None, "text", Range(1.0, 2.0)))


def test_an_estimate_of_differences_holds_zero_or_not():
    assert Estimate({0: -1.0, 1: 1.0, 2: 0.5}, paired=True).holds_zero
    assert not Estimate({0: 1.0, 1: 1.1, 2: 1.2}, paired=True).holds_zero
    assert not Estimate({0: 0.0, 1: 0.0}, paired=True).holds_zero  # two seeds tell nothing
