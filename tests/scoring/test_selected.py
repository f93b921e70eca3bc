import math
from dataclasses import replace

import pytest

from mobench import UserError
from mobench.planning.suite import Suite
from mobench.reporting.sheets import selected_sheets
from mobench.scoring.published import PublishedValue
from mobench.scoring.selected_rows import selected_frame, selected_rows
from tests.reporting.frames import run, sweep, table
from tests.scoring.made_results import results_of

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
SUITE = Suite(
    name="mine", profile="standard", title="Mine", methods={"pcd": {}, "mgda": {}, "famo": {}, "ws": {}}, selected=ROWS
)
METRICS = ("chosen_on", "reported", "bytes")
TAUS = {
    0.1: [(0.9, 70.0, 4000.0), (0.8, 72.0, 4000.0), (0.85, 71.0, 4000.0)],
    0.2: [(0.7, 80.0, 1000.0), (0.8, 90.0, 1000.0), (0.75, 85.0, 1000.0)],
}
RUNS = table(
    sweep("pcd", "tau", TAUS, metrics=METRICS),
    sweep("mgda", None, {None: [(0.1, 10.0, 8000.0)] * 3}, metrics=METRICS),
    sweep("famo", None, {None: [None] * 3}, metrics=METRICS),
    sweep("ws", "weight", {0.5: [(0.1, 60.0, 2000.0), None, None]}, metrics=METRICS),
)


def texts(sheet):
    return [[("*" if cell.strong else "") + cell.full for cell in row] for row in sheet.rows]


def sheets(monkeypatch, selection="validation", published=(), suite=SUITE, runs=RUNS):
    monkeypatch.setattr("mobench.scoring.results.load_published", lambda names: list(published))
    return selected_sheets(results_of(runs, suite, selection=selection))


def test_the_table_of_selected_configurations(monkeypatch):
    numbers, chosen = sheets(monkeypatch)
    assert numbers.header == ("method", "90 % ↑", "size ↓", "tried", "failed")
    assert texts(numbers) == [
        ["pcd", "*71.0 [70.0, 72.0]", "*4 [4, 4]", "2", "0"],
        ["mgda", "10.0 [10.0, 10.0]", "8 [8, 8]", "1", "0"],
        ["famo", "failed", "failed", "1", "3"],
        ["ws", "60.0 (1 of 3 seeds)", "2 (1 of 3 seeds)", "1", "2"],
    ]
    assert texts(chosen) == [
        ["pcd", "tau=0.1", "tau=0.1"],
        ["mgda", "default", "default"],
        ["famo", "–", "–"],
        ["ws", "weight=0.5", "weight=0.5"],
    ]
    assert numbers.notes[0] == "Configurations are selected by chosen on."  # the problem declares no data of it


def test_selection_on_test_data_changes_the_configuration_and_says_so(monkeypatch):
    numbers, chosen = sheets(monkeypatch, "test")
    assert texts(numbers)[0][1:3] == ["*85.0 [80.0, 90.0]", "*1 [1, 1]"]
    assert texts(chosen)[0][1:] == ["tau=0.2", "tau=0.2"]
    assert "by the numbers shown, so that a longer sweep has an advantage, or by reported" in numbers.notes[0]


def test_published_numbers_stand_in_a_column_of_their_own(monkeypatch):
    known = [PublishedValue("bytes", 4400.0, {"method": "pcd"}, "a paper", "of another machine")]
    (numbers, _) = sheets(monkeypatch, published=known)
    assert numbers.header == ("method", "90 % ↑", "size ↓", "size, published", "tried", "failed")
    assert [row[3] for row in texts(numbers)] == ["4.4", "–", "–", "–"]
    assert numbers.notes[-2:] == ("Published: a paper", "Published: of another machine")
    frame = selected_frame(selected_rows(SUITE), RUNS, known)
    assert frame["published"].dropna().tolist() == [4400.0]


def test_a_fixed_method_shows_what_was_published_for_that_setting(monkeypatch):
    rows = ({**ROWS[0], "fixed": {"pcd": {"tau": 0.2}}},)
    known = [PublishedValue("reported", 88.0, {"method": "pcd", "method.tau": 0.2}, "", "")]
    fixed, _ = sheets(monkeypatch, published=known, suite=replace(SUITE, selected=rows))
    assert texts(fixed)[0][1:3] == ["*85.0 [80.0, 90.0]", "88.0"]
    free, _ = sheets(monkeypatch, published=known)
    assert free.header == ("method", "90 % ↑", "size ↓", "tried", "failed")


def test_every_number_of_the_table_is_in_its_data(monkeypatch):
    numbers, _ = sheets(monkeypatch)
    row = numbers.data[(numbers.data["row"] == "size") & (numbers.data["contender"] == "pcd")].iloc[0]
    assert (row["mean"], row["value"], row["select"], row["chosen"], row["n"]) == (
        4000.0,
        "bytes",
        "chosen_on",
        "tau=0.1",
        3,
    )
    assert math.isnan(row["published"])


@pytest.mark.parametrize("seeds", [1, 2])
def test_too_few_seeds_mark_no_best(monkeypatch, seeds):
    few = table(
        sweep("pcd", "tau", {0.1: [(0.9, 70.0, 1.0)] * seeds}, metrics=METRICS),
        sweep("ws", "weight", {0.1: [(0.9, 10.0, 1.0)] * seeds}, metrics=METRICS),
    )
    numbers, _ = sheets(monkeypatch, runs=few)
    assert [row[0] for row in texts(numbers)] == ["pcd", "ws"] and texts(numbers)[0][1].startswith("70.0")
    assert any("No best is marked" in note for note in numbers.notes)


def test_an_unknown_selection_is_refused():
    with pytest.raises(UserError, match="Did you mean 'validation'"):
        selected_rows(SUITE, "validaton")


def test_a_contender_that_was_not_run_on_an_instance_is_left_out_of_its_table(monkeypatch):
    two = table(
        [run("pcd", 0, instance="a", **{"problem.k": 1}, chosen_on=1.0, reported=2.0)],
        [run("ws", 0, instance="b", **{"problem.k": 2}, chosen_on=1.0, reported=2.0)],
    )
    made = sheets(monkeypatch, suite=replace(SUITE, selected=ROWS[:1]), runs=two)
    assert [[row[0].text for row in sheet.rows] for sheet in made] == [["pcd"], ["pcd"], ["ws"], ["ws"]]
