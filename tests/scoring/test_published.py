import re

import pytest

from mobench import UserError
from mobench.scoring.published import find_published, load_published
from tests.reporting.frames import run, table

PRUNING = {
    "problem.network": "densenet-121",
    "problem.dataset": "cifar-10",
    "problem.penalty": "group-lasso",
    "problem.scale": 1.0,
}


def published(name, metric, method, settings=None, **columns):
    where = {**PRUNING, **columns}
    runs = table([run(method, seed, problem="compression@2", settings=settings, **where) for seed in (0, 1)])
    found = find_published(load_published([name]), metric, runs)
    return None if found is None else found.value


def test_all_tables_of_the_paper_are_there():
    pruning = load_published(["pruning"])
    accuracies = [value for value in pruning if value.metric.startswith("accuracy")]
    assert len(accuracies) == 8 * (5 * 7 + 1)
    costs = [value for value in pruning if not value.metric.startswith("accuracy")]
    assert len(costs) == (2 * 6 * 3 + 6 * 3 * 3) * 8
    assert len(load_published(["low-rank"])) == 4 * (3 * 7 + 1)
    assert len(load_published(["normalization"])) == 4 * 5 + 4
    names = {value.metric for value in pruning}
    assert all(re.fullmatch(r"(accuracy|flops|latency_ms|bytes)(@(80|85|90|95|99))?", name) for name in names)


def test_numbers_stand_where_the_paper_has_them_in_the_units_of_the_metrics():
    assert published("pruning", "accuracy@99", "pcd") == 89.2
    assert published("pruning", "accuracy@99", "auxinash") == 71.8
    mobile = {"problem.network": "mobilenet-v2", "problem.dataset": "cifar-100"}
    assert published("pruning", "accuracy@99", "ws", {"form": "convex"}, **mobile) == 1.9
    assert published("pruning", "flops@90", "mgda") == pytest.approx(0.32e9)
    assert published("pruning", "bytes", "famo") == pytest.approx(27.2 * 2**20)
    rank = {"problem.penalty": "l1-nuclear", "problem.network": "inception"}
    assert published("low-rank", "effective_rank", "auxinash", **rank) == 18.0
    assert published("low-rank", "parameter_sparsity", "mgda", **rank) == pytest.approx(0.991)
    assert published("pruning", "accuracy", "plain") == 94.5
    assert published("low-rank", "accuracy", "plain", **rank) == 90.7
    assert published("normalization", "diagnostic/slack", "pcd", {"tau": 0.01, "normalization": "unit"}) == -0.01
    ema = {"tau": 0.01, "normalization": "ema", "beta": 0.99}
    assert published("normalization", "diagnostic/deviation", "pcd", ema) == 0.048


def test_nothing_is_shown_beside_runs_it_does_not_speak_of():
    assert published("pruning", "accuracy@99", "pcd", **{"problem.network": "digits-cnn"}) is None
    assert published("pruning", "accuracy@99", "pcd", **{"problem.scale": 100.0}) is None
    assert published("pruning", "accuracy@99", "ws", {"form": "penalty"}) is None
    assert published("pruning", "accuracy@97", "pcd") is None
    assert published("pruning", "accuracy@99", "mine") is None
    rank = {"problem.penalty": "l1-nuclear", "problem.network": "inception"}
    assert published("low-rank", "accuracy", "pcd", {"tau": 0.02}, **rank) == 89.2
    assert published("low-rank", "accuracy", "pcd", {"tau": 0.1}, **rank) is None
    mixed = table(
        [
            run("ws", s, problem="compression@2", settings={"form": f}, **PRUNING)
            for s, f in enumerate(("convex", "penalty"))
        ]
    )
    assert find_published(load_published(["pruning"]), "accuracy@80", mixed) is None
    assert find_published(load_published(["pruning"]), "accuracy@80", mixed[:0]) is None


def test_notes_belong_to_their_metric():
    notes = {value.metric: value.note for value in load_published(["pruning"])}
    assert "98.5" in notes["accuracy@99"]
    assert notes["accuracy@80"] == ""
    assert "ratios" in notes["latency_ms"] == notes["latency_ms@90"]


def test_an_unknown_file_is_refused():
    with pytest.raises(UserError, match="Did you mean 'pruning'"):
        load_published(["prunning"])
