import numpy as np
import pytest

from mobench import UserError
from mobench.core.outcome import Outcome
from mobench.planning.plan import make_plan
from mobench.planning.suite import Suite, load_suite
from mobench.running.environment import environment
from mobench.scoring.budget import budget_curves, instance_scores
from mobench.scoring.indicators.hypervolume import hypervolume
from mobench.scoring.provenance import SentIn
from mobench.scoring.query import Query, pivots, select
from mobench.scoring.results import SuiteResults
from mobench.scoring.runs import results_table
from mobench.scoring.suite_tables import pivot_tables
from mobench.scoring.tables import number_of
from mobench.store.record import RunRecord, settled
from mobench.store.stored_runs import HeldRuns

SUITE = """
title: Hand-made
problems: {quadratic@1: {scale: [1.0, 10.0]}}
methods: {ws: {weight: [0.2, 0.5]}, mgda: {}}
seeds: [0, 1, 2]
training: {steps: 1}
tables:
  - {title: ends, value: secondary, columns: problem.scale}
published:
  - {quantity: largest, paper: 9, value: secondary, over: max, where: {method: ws}}
  - {quantity: spread by seed, paper: "0", value: secondary, over: spread, by: seed, where: {method: mgda}}
  - {quantity: of nobody, paper: 1, value: secondary, where: {method: famo}}
  - {quantity: of a setting nobody has, paper: 1, value: secondary, where: {method.tau: 0.1}}
"""


def end(spec):
    """A made-up end point: the knob and the seed decide it."""
    knob = spec.method_settings.get("weight", 0.9)
    return {"loss/quadratic": -3.0 * knob - spec.seed, "loss/l1": 1.0, "secondary": 10.0 * knob + spec.seed}


@pytest.fixture
def suite(tmp_path):
    (tmp_path / "handmade.yaml").write_text(SUITE)
    return make_plan(load_suite(str(tmp_path / "handmade.yaml")), {})


def records(plan, failing=lambda spec: False):
    for spec in plan.specs:
        timings = {"seconds": 1.0, "seconds_per_step": 1e-3, "method_seconds_per_step": 1e-4}
        outcome = Outcome("done", metrics=end(spec), timings=timings)
        if failing(spec):
            outcome = Outcome("failed", error="ValueError: no", timings=timings)
        yield RunRecord(spec, settled(outcome), None, environment(), "then", "now")


def read(plan, failing=lambda spec: False):
    return SuiteResults.read(plan.suite, HeldRuns(list(records(plan, failing))))


def test_one_row_per_run_with_every_setting(suite):
    table = results_table(records(suite))
    assert len(table) == 2 * 3 * 3 and table["id"].is_unique
    assert set(table["method_label"]) == {"ws(weight=0.2)", "ws", "mgda"}
    assert table["configuration"].nunique() == 6 and table["instance"].nunique() == 2


def test_hypervolume_of_a_sweep_per_seed(suite):
    scores = instance_scores(read(suite))
    row = scores[(scores["contender"] == "ws") & (scores["instance_label"] == "quadratic: scale=1")].iloc[0]
    expected = [hypervolume([[-0.6 - s, 2.0 + s], [-1.5 - s, 5.0 + s]], (-12, 0), (0, 20)) for s in range(3)]
    assert row["hypervolume"] == pytest.approx(np.mean(expected))
    assert row["hypervolume/sd"] == pytest.approx(np.std(expected, ddof=1))
    assert (row["configurations"], row["runs"], row["failed"], row["seeds"]) == (2, 6, 0, 3)
    assert row["igd_plus"] > 0 and row["gd_plus"] >= 0


def test_a_failed_seed_scores_zero_and_is_counted(suite):
    failing = lambda spec: spec.method == "mgda@1" and spec.seed == 1  # noqa: E731
    scores = instance_scores(read(suite, failing))
    whole = instance_scores(read(suite))
    first, complete = (frame[frame["contender"] == "mgda"].iloc[0] for frame in (scores, whole))
    assert first["failed"] == 1 and first["runs"] == 3
    one = [hypervolume([[-2.7 - s, 9.0 + s]], (-12, 0), (0, 20)) for s in (0, 2)]
    assert first["hypervolume"] == pytest.approx(sum(one) / 3)
    assert first["hypervolume"] < complete["hypervolume"]


def test_a_table_without_a_finished_run_scores_zero(suite):
    results = read(suite, failing=lambda spec: True)
    assert "loss/l1" not in results.table
    assert [number_of(value) for value in results.headline.column("aim")] == [0.0, 0.0]
    assert (instance_scores(results)["hypervolume"] == 0.0).all()


def test_overall_scores_are_means_over_instances(suite):
    results = read(suite)
    per_instance = instance_scores(results).groupby("contender")["hypervolume"].mean()
    assert number_of(results.headline.cell("ws", "aim")) == pytest.approx(per_instance["ws"])
    assert results.headline.cell("ws", "configurations") == 2


def test_budget_curves_grow_and_end_at_the_whole_sweep(suite):
    results = read(suite)
    curve = budget_curves(results).query("contender == 'ws'").groupby("instance")["mean"].apply(list).iloc[0]
    scores = instance_scores(results).query("contender == 'ws'")["hypervolume"].iloc[0]
    assert curve[0] < curve[1] == pytest.approx(scores)


def test_published_rows_stand_beside_ours(suite):
    largest, spread, nobody, unset = read(suite).published
    assert (largest.paper, largest.ours, largest.runs) == ("9", 7.0, 12)
    assert (spread.ours, spread.low, spread.high) == (0.0, 0.0, 0.0)
    assert nobody.ours is None and nobody.runs == 0
    assert unset.ours is None and unset.runs == 0


def test_tables_pivot_a_metric(suite):
    (ends,) = pivot_tables(read(suite))
    assert ends.title == "ends"
    assert ends.cell("mgda", "scale=1") == pytest.approx(10.0)
    assert ends.cell("ws", "scale=10") == pytest.approx(4.5)


def test_a_list_stands_across_a_table_as_one_word(suite):
    runs = read(suite).table
    listed = runs.assign(**{"problem.scale": [[1.0, scale] for scale in runs["problem.scale"]]})
    ((_, numbers),) = pivots(suite.suite, Query(listed))
    assert numbers.loc["ws", "1/10"] == pytest.approx(4.5)


def test_questions_that_make_no_sense(suite):
    table = results_table(records(suite))
    with pytest.raises(UserError, match="Did you mean 'method'"):
        select(table, {"methd": "ws"})
    with pytest.raises(UserError, match=r"unknown column 'method\.tua'"):
        select(table, {"method.tua": 0.1})
    assert len(select(table, {"problem.scale": [1, 10], "method": "mgda"})) == 6


def test_no_records_make_empty_tables():
    empty = SuiteResults.read(Suite(name="s", profile="p", title="t"), HeldRuns())
    assert len(empty.table) == 0 and empty.contests == [] and empty.failed == 0


def test_who_sent_a_run_in_stands_beside_that_run(suite):
    theirs = {spec.id for spec in suite.specs if spec.method.startswith("ws")}
    sent_in = {"ws": SentIn("Ada", "repeated in part", True, len(theirs), frozenset(sorted(theirs)[:1]))}
    table = SuiteResults.read(suite.suite, HeldRuns(list(records(suite))), submitted=sent_in).table
    assert set(table.loc[table["submitted"] == "Ada", "id"]) == theirs
    assert table.loc[table["repeated"] == "yes", "id"].tolist() == sorted(theirs)[:1]
    assert table.loc[table["method"] == "mgda", ["submitted", "repeated"]].isna().all(axis=None)


def test_a_query_that_is_asked_again_answers_as_a_new_one(suite):
    table = read(suite, lambda spec: spec.seed == 2).table
    listed = table.assign(pair=[[1.0, scale] for scale in table["problem.scale"]])
    query = Query(listed)
    for where in ({"method": "ws"}, {"method": ["ws", "mgda"], "seed": 1}, {"pair": [[1.0, 10.0]]}, {"method.tau": 1}):
        assert query.select(where)["id"].tolist() == select(listed, where)["id"].tolist()
    assert query.select({"pair": [[1.0, 10.0]], "method": "mgda"})["seed"].tolist() == [0, 1]
    assert list(query.select({"method": "ws"}, ["seed", "id", "nothing"])) == ["seed", "id"]
