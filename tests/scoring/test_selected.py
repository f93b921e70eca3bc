import math
from dataclasses import replace

import pytest

from mobench import UserError
from mobench.planning.suite import Suite
from mobench.reporting.format import headings, lines_of
from mobench.reporting.notes import sentences
from mobench.scoring.published import PublishedValue
from mobench.scoring.select import selected_indicators
from mobench.scoring.suite_tables import selected_tables, settings_table
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


def tables(monkeypatch, selection="validation", published=(), suite=SUITE, runs=RUNS):
    monkeypatch.setattr("mobench.scoring.results.load_published", lambda names: list(published))
    return selected_tables(results_of(runs, suite, selection=selection))


def texts(table):
    return [line[1:] for line in lines_of(table)]


def test_the_table_of_selected_configurations(monkeypatch):
    (numbers,) = tables(monkeypatch)
    assert headings(numbers) == ["method", "90 % ↑", "size ↓", "tried", "failed"]
    assert [row.label for row in numbers.rows] == ["pcd", "ws", "mgda", "famo"]
    assert texts(numbers) == [
        ["71.0 [70.0, 72.0]", "4 [4, 4]", "2", "0"],
        ["60.0 (1 of 3 seeds)", "2 (1 of 3 seeds)", "1", "2"],
        ["10.0 [10.0, 10.0]", "8 [8, 8]", "1", "0"],
        ["failed", "failed", "1", "3"],
    ]
    assert texts(settings_table(numbers)) == [
        ["tau=0.1", "tau=0.1"],
        ["weight=0.5", "weight=0.5"],
        ["default", "default"],
        ["–", "–"],
    ]
    assert sentences(numbers)[0] == "Configurations are selected by chosen on."  # the problem declares no data of it


def test_selection_on_test_data_changes_the_configuration_and_says_so(monkeypatch):
    (numbers,) = tables(monkeypatch, "test")
    assert texts(numbers)[0][:2] == ["85.0 [80.0, 90.0]", "1 [1, 1]"]
    assert texts(settings_table(numbers))[0] == ["tau=0.2", "tau=0.2"]
    assert "by the numbers shown, so that a longer sweep has an advantage, or by reported" in sentences(numbers)[0]


def test_published_numbers_stand_in_a_column_of_their_own(monkeypatch):
    known = [PublishedValue("bytes", 4400.0, {"method": "pcd"}, "a paper", "of another machine")]
    (numbers,) = tables(monkeypatch, published=known)
    assert headings(numbers) == ["method", "90 % ↑", "size ↓", "tried", "failed", "size, published"]
    assert [line[-1] for line in texts(numbers)] == ["4.4", "–", "–", "–"]
    assert sentences(numbers)[-2:] == ["Published: a paper", "Published: of another machine"]
    assert numbers.frame()["published"].dropna().tolist() == [4400.0]


def test_a_fixed_method_shows_what_was_published_for_that_setting(monkeypatch):
    rows = ({**ROWS[0], "fixed": {"pcd": {"tau": 0.2}}},)
    known = [PublishedValue("reported", 88.0, {"method": "pcd", "method.tau": 0.2}, "", "")]
    (fixed,) = tables(monkeypatch, published=known, suite=replace(SUITE, selected=rows))
    assert texts(fixed)[0] == ["85.0 [80.0, 90.0]", "1", "0", "88.0"]
    assert "90 %: pcd at tau=0.2, not selected." in sentences(fixed)
    (free,) = tables(monkeypatch, published=known)
    assert headings(free) == ["method", "90 % ↑", "size ↓", "tried", "failed"]


def test_every_number_of_the_table_is_in_its_frame(monkeypatch):
    (numbers,) = tables(monkeypatch)
    line = numbers.frame().query("column == 'size' and row == 'pcd'").iloc[0]
    assert (line["value"], line["metric"], line["settings"], line["seeds"]) == (4000.0, "bytes", "tau=0.1", 3)
    assert line["published"] is None or math.isnan(line["published"])


@pytest.mark.parametrize("seeds", [1, 2])
def test_too_few_seeds_tell_nobody_apart(monkeypatch, seeds):
    few = table(
        sweep("pcd", "tau", {0.1: [(0.9, 70.0, 1.0)] * seeds}, metrics=METRICS),
        sweep("ws", "weight", {0.1: [(0.9, 10.0, 1.0)] * seeds}, metrics=METRICS),
    )
    (numbers,) = tables(monkeypatch, runs=few)
    assert [row.label for row in numbers.rows] == ["pcd", "ws"] and texts(numbers)[0][0].startswith("70.0")
    assert "It takes 3 seeds to tell methods apart." in sentences(numbers)


def test_an_unknown_selection_is_refused():
    with pytest.raises(UserError, match="Did you mean 'validation'"):
        selected_indicators(SUITE, "validaton")


def test_a_contender_that_was_not_run_on_an_instance_is_left_out_of_its_table(monkeypatch):
    two = table(
        [run("pcd", 0, instance="a", **{"problem.k": 1}, chosen_on=1.0, reported=2.0)],
        [run("ws", 0, instance="b", **{"problem.k": 2}, chosen_on=1.0, reported=2.0)],
    )
    made = tables(monkeypatch, suite=replace(SUITE, selected=ROWS[:1]), runs=two)
    assert [[row.label for row in table.rows] for table in made] == [["pcd"], ["ws"]]
