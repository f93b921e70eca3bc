import math
from dataclasses import replace

import pytest

from mobench import UserError
from mobench.planning.suite import Suite
from mobench.reporting.selected_tables import selected_sheets
from mobench.scoring.published_values import PublishedValue
from mobench.scoring.selected import selected_frame, selected_rows
from tests.reporting.frames import run, sweep, table

ROWS = (
    {"label": "90 %", "value": "reported", "select": "chosen_on", "decimals": 1},
    {
        "label": "size",
        "value": "bytes",
        "select": "chosen_on",
        "best": "min",
        "select_best": "max",
        "unit": 1000,
        "select_test": "reported",
    },
)
SUITE = Suite("mine", "standard", "Mine", selected=ROWS)
METRICS = ("chosen_on", "reported", "bytes")
TAUS = {
    0.1: [(0.9, 70.0, 4000.0), (0.8, 72.0, 4000.0)],
    0.2: [(0.7, 80.0, 1000.0), (0.8, 90.0, 1000.0)],
}
RUNS = table(
    sweep("pcd", "tau", TAUS, metrics=METRICS),
    sweep("mgda", None, {None: [(0.1, 10.0, 8000.0), (0.1, 10.0, 8000.0)]}, metrics=METRICS),
    sweep("famo", None, {None: [None, None]}, metrics=METRICS),
    sweep("ws", "weight", {0.5: [(0.1, 60.0, 2000.0), None]}, metrics=METRICS),
)
ORDER = ["pcd", "mgda", "famo", "ws"]


def texts(sheet):
    return [[("*" if cell.strong else "") + cell.text for cell in row] for row in sheet.rows]


def sheets(selection="validation", published=(), suite=SUITE):
    rows = selected_rows(suite, selection)
    return selected_sheets(selected_frame(rows, RUNS, published), rows, ORDER, selection)


def test_the_table_of_selected_configurations():
    numbers, chosen = sheets()
    assert numbers.header == ("", "pcd", "mgda", "famo", "ws")
    assert texts(numbers) == [
        ["90 %", "*71.0 [70.0, 72.0]", "10.0 [10.0, 10.0]", "failed", "60.0 (1 of 2 seeds)"],
        ["size", "*4 [4, 4]", "8 [8, 8]", "failed", "2 (1 of 2 seeds)"],
        ["configurations tried", "2", "1", "1", "1"],
        ["failed runs", "0", "0", "2", "1"],
    ]
    assert texts(chosen) == [
        ["90 %", "tau=0.1", "default", "–", "weight=0.5"],
        ["size", "tau=0.1", "default", "–", "weight=0.5"],
    ]
    assert "selected on validation data" in numbers.notes[0]


def test_selection_on_test_data_changes_the_configuration_and_says_so():
    numbers, chosen = sheets("test")
    assert texts(numbers)[0][1] == "*85.0 [80.0, 90.0]"
    assert texts(numbers)[1][1] == "*1 [1, 1]"
    assert [row[1] for row in texts(chosen)] == ["tau=0.2", "tau=0.2"]
    assert "selected on test data" in numbers.notes[0]


def test_published_numbers_stand_in_a_row_of_their_own():
    known = [PublishedValue("bytes", 4400.0, {"method": "pcd"}, "a paper", "of another machine")]
    (numbers, _) = sheets(published=known)
    assert texts(numbers)[1:3] == [
        ["size", "*4 [4, 4]", "8 [8, 8]", "failed", "2 (1 of 2 seeds)"],
        ["size, published", "4.4", "–", "–", "–"],
    ]
    assert numbers.notes[-2:] == ("Published: a paper", "Published: of another machine")
    frame = selected_frame(selected_rows(SUITE), RUNS, known)
    assert frame["published"].dropna().tolist() == [4400.0]


def test_a_fixed_method_shows_what_was_published_for_that_setting():
    rows = ({**ROWS[0], "fixed": {"pcd": {"tau": 0.2}}},)
    known = [PublishedValue("reported", 88.0, {"method": "pcd", "method.tau": 0.2}, "", "")]
    fixed, _ = sheets(published=known, suite=replace(SUITE, selected=rows))
    assert [row[1] for row in texts(fixed)[:2]] == ["*85.0 [80.0, 90.0]", "88.0"]
    free, _ = sheets(published=known)
    assert [row[0] for row in texts(free)] == ["90 %", "size", "configurations tried", "failed runs"]


def test_every_number_of_the_table_is_in_its_data():
    numbers, _ = sheets()
    row = numbers.data[(numbers.data["row"] == "size") & (numbers.data["contender"] == "pcd")].iloc[0]
    assert (row["mean"], row["value"], row["select"], row["chosen"], row["n"]) == (
        4000.0,
        "bytes",
        "chosen_on",
        "tau=0.1",
        2,
    )
    assert math.isnan(row["published"])


def test_one_seed_has_no_interval_and_says_nothing_about_noise():
    one = table(sweep("pcd", "tau", {0.1: [(0.9, 70.0, 1.0)]}, metrics=METRICS))
    rows = selected_rows(SUITE)
    numbers, _ = selected_sheets(selected_frame(rows, one), rows, ["pcd"], "validation")
    assert texts(numbers)[0] == ["90 %", "*70.0"]
    assert any("One seed" in note for note in numbers.notes)


def test_an_unknown_selection_is_refused():
    with pytest.raises(UserError, match="Did you mean 'validation'"):
        selected_rows(SUITE, "validaton")


def test_a_contender_that_was_not_run_on_an_instance_is_left_out_of_its_table():
    rows = selected_rows(replace(SUITE, selected=ROWS[:1]))
    two = table(
        [run("pcd", 0, instance="a", **{"problem.k": 1}, chosen_on=1.0, reported=2.0)],
        [run("ws", 0, instance="b", **{"problem.k": 2}, chosen_on=1.0, reported=2.0)],
    )
    made = selected_sheets(selected_frame(rows, two), rows, ["pcd", "ws"], "validation")
    headers = [sheet.header for sheet in made]
    assert headers == [("", "pcd"), ("", "pcd"), ("", "ws"), ("", "ws")]
