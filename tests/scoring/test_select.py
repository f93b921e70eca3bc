import math

import numpy as np
import pandas as pd
import pytest

from mobench import UserError
from mobench.scoring.indicators.intervals import interval
from mobench.scoring.select import Criterion, Sweeps
from tests.reporting.frames import sweep, table

VALIDATION = Criterion("reported", "chosen_on")
TEST = Criterion("reported", "reported")


def selected_configurations(runs, criterion):
    return Sweeps(runs).selected(criterion)


PCD = sweep("pcd", "tau", {0.1: [(0.9, 70.0), (0.8, 72.0)], 0.2: [(0.7, 80.0), (0.8, 90.0)]})


def chosen(runs, criterion=VALIDATION, method="pcd"):
    frame = selected_configurations(table(runs), criterion)
    (row,) = frame[frame["method"] == method].to_dict("records")
    return row


def test_validation_chooses_and_test_is_reported():
    row = chosen(PCD)
    assert (row["chosen"], row["configuration"]) == ("tau=0.1", "a/pcd(tau=0.1)")
    assert (row["tried"], row["runs"], row["failed"], row["missing"], row["n"]) == (2, 4, 0, 0, 2)
    assert row["score"] == pytest.approx(0.85)
    expected = interval([70.0, 72.0])
    assert (row["mean"], row["sd"], row["low"], row["high"]) == (71.0, expected.sd, expected.low, expected.high)


def test_selection_on_test_data_is_the_same_rule_on_the_reported_metric():
    assert (chosen(PCD, TEST)["chosen"], chosen(PCD, TEST)["mean"]) == ("tau=0.2", 85.0)


def test_a_metric_can_be_better_when_it_is_small():
    assert chosen(PCD, Criterion("reported", "chosen_on", select_best="min"))["chosen"] == "tau=0.2"


def test_a_configuration_with_a_failed_seed_ranks_below_whole_ones():
    assert (
        chosen(sweep("pcd", "tau", {0.1: [(0.99, 99.0), None], 0.2: [(0.5, 50.0), (0.4, 40.0)]}))["chosen"] == "tau=0.2"
    )


def test_a_seed_that_was_not_run_yet_counts_like_a_failed_one():
    complete = sweep("ws", "weight", {0.5: [(0.1, 1.0), (0.1, 1.0)]})
    assert (
        chosen([*sweep("pcd", "tau", {0.1: [(0.9, 9.0)], 0.2: [(0.5, 5.0), (0.5, 5.0)]}), *complete])["chosen"]
        == "tau=0.2"
    )


def test_among_incomplete_configurations_fewer_missing_seeds_win():
    row = chosen(sweep("pcd", "tau", {0.1: [(0.9, 9.0), None, None], 0.2: [(0.2, 2.0), (0.2, 4.0), None]}))
    assert (row["chosen"], row["missing"], row["n"], row["failed"], row["mean"]) == ("tau=0.2", 1, 2, 3, 3.0)


def test_a_method_that_always_failed_is_shown():
    frame = selected_configurations(table(PCD, sweep("mgda", None, {None: [None, None]})), VALIDATION)
    failed = frame.set_index("method").loc["mgda"]
    assert (failed["n"], failed["failed"], failed["missing"], failed["chosen"]) == (0, 2, 2, "")
    assert math.isnan(failed["mean"])
    assert not failed["best"]


def test_a_table_of_failures_alone_is_a_table():
    frame = selected_configurations(table(sweep("mgda", None, {None: [None]})), VALIDATION)
    assert frame[["method", "n", "failed"]].to_dict("records") == [{"method": "mgda", "n": 0, "failed": 1}]


def test_equal_scores_are_decided_without_looking_at_the_test_metric():
    one = sweep("pcd", "tau", {0.1: [(0.5, 1.0)], 0.2: [(0.5, 9.0)]})
    other = sweep("pcd", "tau", {0.1: [(0.5, 9.0)], 0.2: [(0.5, 1.0)]})
    assert chosen(one)["chosen"] == chosen(other)["chosen"] == "tau=0.1"


def test_the_order_of_rows_does_not_matter():
    rows = [*PCD, *sweep("ws", "weight", {0.5: [(0.1, 1.0), (0.1, 2.0)], 0.6: [(0.1, 3.0), (0.1, 4.0)]})]
    expected = selected_configurations(table(rows), VALIDATION).sort_values("method").reset_index(drop=True)
    for seed in range(5):
        shuffled = table([rows[index] for index in np.random.default_rng(seed).permutation(len(rows))])
        found = selected_configurations(shuffled, VALIDATION).sort_values("method").reset_index(drop=True)
        pd.testing.assert_frame_equal(found, expected)


def test_instances_are_selected_apart_and_those_without_the_metric_are_left_out():
    other = sweep("pcd", "tau", {0.1: [(0.1, 1.0)], 0.2: [(0.9, 2.0)]}, instance="b")
    without = sweep("pcd", "tau", {0.1: [()]}, metrics=(), instance="c")
    frame = selected_configurations(table(PCD, other, without), VALIDATION)
    assert frame[["instance", "chosen"]].values.tolist() == [["a", "tau=0.1"], ["b", "tau=0.2"]]


def test_a_fixed_method_is_not_selected():
    fixed = Criterion("reported", "chosen_on", fixed={"pcd": {"tau": 0.2}})
    row = chosen(PCD, fixed)
    assert (row["tried"], row["mean"], row["chosen"]) == (1, 85.0, "tau=0.2")
    absent = chosen(PCD, Criterion("reported", "chosen_on", fixed={"pcd": {"tau": 0.7}}))
    assert (absent["runs"], absent["n"]) == (0, 0)
    assert chosen(PCD, Criterion("reported", "chosen_on", fixed={"ws": {"weight": 1.0}}))["tried"] == 2


def test_a_misspelt_metric_is_named():
    with pytest.raises(UserError, match="Did you mean 'reported'"):
        selected_configurations(table(PCD), Criterion("reportd", "chosen_on"))


def test_best_marks_ties_and_never_who_lacks_a_seed():
    runs = [
        *sweep("pcd", None, {None: [(1, 90.0), (1, 91.0), (1, 92.0)]}),
        *sweep("ws", None, {None: [(1, 89.0), (1, 92.0), (1, 91.0)]}),
        *sweep("mgda", None, {None: [(1, 10.0), (1, 11.0), (1, 12.5)]}),
        *sweep("famo", None, {None: [(1, 99.0), (1, 99.0), None]}),
    ]
    frame = selected_configurations(table(runs), VALIDATION).set_index("method")
    assert frame["best"].to_dict() == {"pcd": True, "ws": True, "mgda": False, "famo": False}
