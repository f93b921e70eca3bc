from __future__ import annotations

import math

import pandas as pd
import pytest

from mobench.errors import NonFiniteError, UserError
from mobench.scoring.indicators.intervals import interval
from mobench.scoring.indicators.summary import summarize


def runs() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "method": ["ws", "ws", "ws", "pcd", "pcd", "mgda", "mgda"],
            "seed": [0, 1, 2, 0, 1, 0, 1],
            "status": ["done", "done", "failed", "done", "failed", "failed", "failed"],
            "loss": [1.0, 3.0, math.nan, 5.0, math.nan, math.nan, math.inf],
            "steps": [10, 20, 0, 30, 0, 0, 0],
        },
        index=[5, 5, 1, 0, 9, 9, 9],
    )


def test_one_row_per_group_and_metric_in_order_of_appearance():
    found = summarize(runs(), by=["method"], metrics=["loss", "steps"])
    assert found.columns.tolist() == ["method", "metric", "mean", "sd", "low", "high", "n", "failed"]
    assert found["method"].tolist() == ["ws", "ws", "pcd", "pcd", "mgda", "mgda"]
    assert found["metric"].tolist() == ["loss", "steps"] * 3
    ws = found.iloc[0]
    expected = interval([1.0, 3.0])
    assert (ws["mean"], ws["sd"], ws["low"], ws["high"]) == (expected.mean, expected.sd, expected.low, expected.high)
    assert found["mean"].tolist()[:4] == [2.0, 15.0, 5.0, 30.0]


def test_failed_runs_are_counted_and_their_numbers_not_used():
    found = summarize(runs(), by=["method"], metrics=["loss"])
    assert found["n"].tolist() == [2, 1, 0]
    assert found["failed"].tolist() == [1, 1, 2]


def test_one_run_has_no_spread_and_a_group_of_failures_no_number():
    found = summarize(runs(), by=["method"], metrics=["loss"]).set_index("method")
    assert found.loc["pcd", ["sd", "low", "high"]].isna().all()
    assert found.loc["mgda", ["mean", "sd", "low", "high"]].isna().all()
    assert found["mean"].dtype == "float64"


def test_any_status_but_done_is_a_failure():
    table = pd.DataFrame({"seed": [0, 1], "status": ["done", "crashed"], "loss": [1.0, 2.0]})
    found = summarize(table, by=[], metrics=["loss"])
    assert found[["mean", "n", "failed"]].to_numpy().tolist() == [[1.0, 1, 1]]


def test_without_a_status_no_run_failed():
    table = pd.DataFrame({"seed": [0, 1], "loss": [1.0, 2.0]})
    found = summarize(table, by=[], metrics=["loss"])
    assert found[["mean", "n", "failed"]].to_numpy().tolist() == [[1.5, 2, 0]]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None])
def test_a_non_finite_number_of_a_finished_run_is_refused(bad):
    table = pd.DataFrame({"method": ["a", "a"], "seed": [3, 4], "status": "done", "loss": [1.0, bad]})
    with pytest.raises(NonFiniteError, match=r"'loss' is not finite in 1 runs that did not fail: .*seed 4"):
        summarize(table, by=["method"], metrics=["loss"])


def test_long_lists_of_non_finite_runs_are_shortened():
    table = pd.DataFrame({"seed": range(9), "loss": math.nan})
    with pytest.raises(NonFiniteError, match=r"9 runs .* and 4 more"):
        summarize(table, by=[], metrics=["loss"])


def test_mixing_configurations_of_one_seed_is_refused():
    table = pd.DataFrame({"method": "pcd", "tau": [0.1, 0.1, 0.2, 0.2], "seed": [0, 1, 0, 1], "loss": 1.0})
    with pytest.raises(UserError, match=r"method=pcd holds seeds \[0, 1\] more than once"):
        summarize(table, by=["method"], metrics=["loss"])
    assert summarize(table, by=["method", "tau"], metrics=["loss"])["n"].tolist() == [2, 2]


def test_settings_with_one_value_per_objective_and_missing_settings_are_groups_too():
    table = pd.DataFrame(
        {"tau": [[0.1, 0.2], [0.1, 0.2], None, None], "seed": [0, 1, 0, 1], "loss": [1.0, 3.0, 5.0, 7.0]}
    )
    found = summarize(table, by=["tau"], metrics=["loss"])
    assert found["tau"].tolist()[0] == (0.1, 0.2)
    assert pd.isna(found["tau"].iloc[1])
    assert found["mean"].tolist() == [2.0, 6.0]
    assert table["tau"].iloc[0] == [0.1, 0.2], "the caller's table must not change"


@pytest.mark.parametrize(
    ("by", "metrics", "message"),
    [
        (["methd"], ["loss"], "unknown column 'methd'. Did you mean 'method'"),
        (["method"], ["los"], "unknown metric 'los'. Did you mean 'loss'"),
        (["method"], ["method"], "a metric takes numbers"),
        (["method", "seed"], ["loss"], "by=seed is not accepted"),
    ],
)
def test_mistakes_are_named(by, metrics, message):
    with pytest.raises(UserError, match=message):
        summarize(runs(), by=by, metrics=metrics)


def test_a_table_without_seeds_is_refused():
    with pytest.raises(UserError, match="unknown column 'seed'"):
        summarize(runs().drop(columns="seed"), by=["method"], metrics=["loss"])


def test_an_empty_table_gives_an_empty_summary():
    assert summarize(runs().iloc[:0], by=["method"], metrics=["loss"]).empty
