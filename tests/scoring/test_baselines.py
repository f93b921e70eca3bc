"""Δm: signed relative losses against the baselines of the same instance and seed."""

import math

import pandas as pd
import pytest

from mobench.cli import main
from mobench.core.registry import find_problem
from mobench.errors import UserError
from mobench.planning.check import check_suite
from mobench.planning.suite import load_suite
from mobench.scoring.baselines import with_delta
from mobench.scoring.results import SuiteResults
from mobench.store.folder import Store
from mobench.store.stored_runs import HeldRuns

BASELINES = {
    "accuracy/left": {"method": "plain", "method.objective": 1},
    "loss/right": {"method": "plain", "method.objective": 2},
}
PROBLEMS = {"i": find_problem("two-digits")()}


def run(method, seed, left, right, objective=None, status="done"):
    return {
        "instance": "i", "method": method, "method.objective": objective, "seed": seed, "status": status,
        "accuracy/left": left, "loss/right": right,
    }  # fmt: skip


def test_losses_are_relative_signed_and_of_the_same_seed():
    table = pd.DataFrame(
        [
            run("plain", 0, 80.0, 9.0, 1),
            run("plain", 0, 10.0, 0.5, 2),
            run("plain", 1, 50.0, 9.0, 1),
            run("plain", 1, 10.0, 1.0, 2),
            run("ws", 0, 84.0, 0.4),
            run("ws", 1, 45.0, 1.5),
        ]
    )
    delta = with_delta(table, BASELINES, PROBLEMS)["delta_m"]
    assert delta[4] == pytest.approx(100 * (-0.05 - 0.2) / 2), "both tasks are better than alone"
    assert delta[5] == pytest.approx(100 * (0.1 + 0.5) / 2), "both are worse"


def test_without_its_baselines_a_run_has_no_number():
    table = pd.DataFrame(
        [
            run("plain", 0, 80.0, 9.0, 1),
            run("plain", 0, math.nan, math.nan, 2, status="failed"),
            run("ws", 0, 84.0, 0.4),
            run("ws", 1, 84.0, 0.4),
        ]
    )
    assert with_delta(table, BASELINES, PROBLEMS)["delta_m"].isna().all()
    assert "delta_m" not in with_delta(table, {}, PROBLEMS)


SUITE = """
title: t
problems: {multi-output@1: {dataset: linnerud, width: 4}}
methods: {plain: {objective: [1, 2, 3]}, ws: {}}
training: {optimizer: adam, lr: 0.01, steps: 20}
baselines:
  loss/weight: {method: plain, method.objective: 1}
  loss/waist: {method: plain, method.objective: 2}
metrics: [delta_m]
selected: [{label: "Δm", value: delta_m, select: selection_loss, best: min, decimals: 3}]
"""


def test_a_suite_trains_its_own_baselines_and_shows_delta(tmp_path, capsys):
    suite = tmp_path / "small.yaml"
    suite.write_text(SUITE)
    out = tmp_path / "out"
    assert main(["run", f"suite={suite}", f"results={out}", "jobs=1"]) == 0
    assert main(["results", f"suite={suite}", f"results={out}", "view=all"]) == 0
    assert "Δm" in capsys.readouterr().out
    records = list(Store(out).records())
    runs = SuiteResults.read(load_suite(str(suite)), HeldRuns(records)).table
    ws = runs[runs["method"] == "ws"].iloc[0]
    alone = runs[runs["method"] == "plain"].set_index("method.objective")
    losses = [ws[f"loss/{name}"] / alone.loc[i, f"loss/{name}"] - 1 for i, name in ((1, "weight"), (2, "waist"))]
    assert ws["delta_m"] == pytest.approx(100 * sum(losses) / 2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("loss/waist:", "loss/waste:"), "baselines.loss/waste: unknown metric 'loss/waste'"),
        (("plain, method.objective: 2", "plian"), "baselines.loss/waist: unknown value for method: 'plian'"),
        (("metrics: [delta_m]", "metrics: [delta_n]"), "unknown metric 'delta_n'"),
    ],
)  # fmt: skip
def test_mistakes_in_baselines_are_named(tmp_path, change, words):
    suite = tmp_path / "small.yaml"
    suite.write_text(SUITE.replace(*change))
    with pytest.raises(UserError) as refused:
        check_suite(load_suite(str(suite)), {})
    assert words in str(refused.value)
