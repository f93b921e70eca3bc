"""Nothing dropped, nothing added: every way to choose favourable runs is found."""

import math
from dataclasses import replace

import pytest

from mobench.core.metric import Metric
from mobench.core.outcome import Outcome
from mobench.submissions import findings, parse_bundle
from mobench.submissions.plausibility import declared, out_of_range
from tests.submissions.tampering import in_order, opened, renamed, sealed


def found(header, runs):
    return findings(parse_bundle("chosen.jsonl.gz", sealed(header, in_order(runs))))


def where(run, **wanted):
    spec = {**run["spec"], **run["spec"]["problem_settings"], **run["spec"]["method_settings"]}
    return all(spec.get(key) == value for key, value in wanted.items())


@pytest.mark.parametrize(
    ("dropped", "words"),
    [
        ({"problem": "quadratic@1", "seed": 1}, ["3 of 6 runs are missing", "seed 1"]),
        ({"problem": "quadratic@1", "seed": 1, "scale": 1.0}, ["1 of 6 runs are missing", "scale=1.0"]),
        ({"start": "lower"}, ["3 of 9 runs are missing", "start=lower"]),
        ({"method": "fragile@1", "strength": 0.5}, ["3 of 9 runs are missing", "strength=0.5"]),
    ],
    ids=["a seed", "one run", "a problem", "a configuration"],
)
def test_what_is_dropped_is_named(content, dropped, words):
    header, runs = opened(content)
    kept = [run for run in runs if not where(run, **dropped)]
    assert len(kept) < len(runs)
    (finding,) = found(header, kept)
    for word in words:
        assert word in finding


def test_a_dropped_failure_is_named(content):
    header, runs = opened(content)
    (finding,) = found(header, [run for run in runs if run["outcome"]["status"] == "done"])
    assert "2 of 9 runs are missing" in finding and "start=outer" in finding


def test_a_whole_suite_cannot_lose_a_method_unseen(content):
    header, runs = opened(content)
    (finding,) = found(header, [run for run in runs if run["spec"]["method"] != "fragile@1"])
    assert "6 of 9 runs are missing" in finding


def added(content, change):
    """Return the findings after a copy of a finished run with a changed spec was added."""
    header, runs = opened(content)
    run = next(run for run in runs if where(run, problem="quadratic@1"))
    return found(header, [*runs, renamed({**run, "spec": {**run["spec"], **change(run["spec"])}})])


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda spec: {"seed": 7}, "extra seed"),
        (lambda spec: {"training": {**spec["training"], "steps": 9000}}, "other training: steps"),
        (lambda spec: {"training": {**spec["training"], "lr": 0.1}}, "other training: lr"),
        (lambda spec: {"training": {**spec["training"], "secret": 1}}, "other training: secret"),
        (lambda spec: {"problem_settings": {**spec["problem_settings"], "scale": 3.0}}, "not a problem instance"),
        (
            lambda spec: {"problem_settings": {**spec["problem_settings"], "dimension": 10**12}},
            "not a problem instance",
        ),
        (lambda spec: {"method_settings": {"epsilon": 0.5}}, "not in the declared sweep"),
    ],
    ids=["seed", "steps", "lr", "setting", "instance", "enormous", "configuration"],
)
def test_what_is_added_is_named(content, change, word):
    (finding,) = added(content, change)
    assert "1 runs do not belong to the suite" in finding and word in finding


def test_more_steps_for_all_runs_are_found(content):
    header, runs = opened(content)
    for run in runs:
        run["spec"]["training"]["steps"] = 9000
    findings_ = found(header, [renamed(run) for run in runs])
    assert any("are missing" in finding for finding in findings_)
    assert any("other training: steps" in finding for finding in findings_)


def test_another_definition_of_the_suite_is_found(content):
    header, runs = opened(content)
    header["suites"][0]["definition"]["seeds"] = [0, 1, 2]
    header["suites"][1]["definition"]["extra"] = 1
    one, other = found(header, runs)
    assert "different: seeds" in one and "different: extra" in other


def test_an_unknown_suite_or_profile_is_found(content):
    header, runs = opened(content)
    header["suites"][0]["suite"] = "plains"
    header["suites"][1]["profile"] = "easy"
    findings_ = found(header, runs)
    assert len(findings_) == 2
    assert "plains is not one of the suites" in findings_[0] and "easy" in findings_[1]


def test_a_sweep_of_a_method_that_is_not_submitted_is_found(content):
    header, runs = opened(content)
    header["suites"][0]["sweeps"]["ghost"] = [{}]
    assert any("a sweep of ghost" in finding for finding in found(header, runs))


@pytest.mark.parametrize(
    ("problem", "metric", "value", "word"),
    [
        ("two-wells@1", "loss/wells", -0.5, "below the lower bound"),
        ("quadratic@1", "loss/quadratic", -1e9, "below the lower bound"),
        ("quadratic@1", "bonus", 1.0, "only some of its finished runs"),
    ],
)
def test_impossible_numbers_are_found(content, problem, metric, value, word):
    header, runs = opened(content)
    run = next(run for run in runs if where(run, problem=problem, method="unit-sum@1"))
    run["outcome"]["metrics"][metric] = value
    assert any(metric in finding and word in finding for finding in found(header, runs))


def test_a_value_outside_the_range_that_its_problem_declares_is_found(bundle):
    class Measured:
        def metrics(self):
            return (
                Metric("accuracy", "test accuracy", unit="%", range=(0.0, 100.0)),
                Metric("gap", "gap", range=(0.0, math.inf)),
            )

    metrics = {"accuracy": 101.0, "gap": -1e-3, "undeclared": -1e9}
    record = replace(bundle.records[0], outcome=Outcome("done", metrics=metrics))
    assert dict(out_of_range(record, declared(Measured()))) == {
        "accuracy": "a value outside [0, 100]",
        "gap": "a value outside [0, inf]",
    }
    inside = replace(record, outcome=Outcome("done", metrics={"accuracy": 100.0, "gap": 0.0}))
    assert not list(out_of_range(inside, declared(Measured())))


def test_a_missing_metric_is_found(content):
    header, runs = opened(content)
    for run in runs:
        run["outcome"]["metrics"].pop("loss/wells", None)
        run["outcome"]["metrics"].pop("secondary", None)
    findings_ = found(header, runs)
    assert any("the suite's metric loss/wells is missing" in finding for finding in findings_)
    assert any("the suite's metric secondary is missing" in finding for finding in findings_)


def test_a_finished_run_with_fewer_steps_is_found(content):
    header, runs = opened(content)
    run = next(run for run in runs if run["outcome"]["status"] == "done")
    run["outcome"]["timings"]["steps"] = 10.0
    (finding,) = found(header, runs)
    assert "did not take its" in finding
