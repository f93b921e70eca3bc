"""Repeated runs: an honest bundle agrees to the last bit, a forged metric does not, and no stranger's code runs."""

import hashlib
import json
from dataclasses import replace

import pytest

from mobench.core.metric import Metric
from mobench.core.outcome import Outcome
from mobench.errors import UserError
from mobench.submissions import findings, parse_bundle
from mobench.submissions.collecting import plugin_files
from mobench.submissions.rerun import CHEAP_SECONDS, differences, draw, rerun, same_setup, seed_spread
from tests.submissions.tampering import in_order, opened, renamed, sealed


@pytest.fixture
def files(folder):
    return plugin_files([str(folder / "mine.py")])


def test_an_honest_bundle_is_repeated_to_the_last_bit(bundle, files):
    again = rerun(bundle, sample=99, seed=1, files=files, jobs=0)
    assert (again.possible, again.exact, again.close) == (15, 15, 0)
    assert again.findings == again.obstacles == ()


def test_the_seed_says_which_runs_are_drawn(bundle):
    draws = [tuple(record.id for record in draw(bundle.records, 3, seed)) for seed in range(20)]
    assert draws[0] == tuple(record.id for record in draw(bundle.records, 3, 0))
    assert len(set(draws)) > 15
    assert {id_ for drawn in draws for id_ in drawn} == {record.id for record in bundle.records}
    assert len(draw(bundle.records, 99, 0)) == 15


def test_a_record_from_before_a_metric_of_the_engine_agrees_and_gradients_at_the_end_are_compared_here_alone(bundle):
    record = next(record for record in bundle.records if record.outcome.status == "done")
    metrics = dict(record.outcome.metrics)
    earlier = {name: value for name, value in metrics.items() if name != "pareto_residual"}
    assert len(earlier) == len(metrics) - 1
    before = replace(record, outcome=replace(record.outcome, metrics=earlier))
    assert differences(before, record, {}, exact=True) == []
    other = replace(record, outcome=replace(record.outcome, metrics={**metrics, "cms_residual": 7.0}))
    assert differences(record, other, {}, exact=False) == []
    (found,) = differences(record, other, {}, exact=True)
    assert found.startswith("cms_residual recorded as")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda outcome: outcome["metrics"].update(x=outcome["metrics"]["x"] + 1e-15), "x recorded as"),
        (lambda outcome: outcome["metrics"].update(extra=1.0), "extra is recorded alone"),
        (lambda outcome: outcome["metrics"].pop("x"), "x is repeated alone"),
        (
            lambda outcome: outcome["diagnostics"].update(active={"mean": 1.0, "total": None}),
            "diagnostic active (mean)",
        ),
        (lambda outcome: outcome["history"]["point"][0].__setitem__(0, 9.0), "the curves differ"),
        (lambda outcome: outcome.update(backward_passes=1), "1 backward passes recorded"),
        (lambda outcome: outcome.update(status="failed", error="it failed"), "recorded as failed, repeated as done"),
    ],
    ids=["metric", "new metric", "lost metric", "diagnostic", "curve", "cost", "status"],
)
def test_a_forged_run_with_fitting_checksums_differs_from_the_repeated_one(content, bundle, change, word):
    header, runs = opened(content)
    number = next(
        number
        for number, run in enumerate(runs)
        if run["outcome"]["status"] == "done" and "x" in run["outcome"]["metrics"]
    )
    change(runs[number]["outcome"])
    forged = parse_bundle("forged.jsonl.gz", sealed(header, runs)).records[number]
    found = differences(forged, bundle.records[number], {}, exact=True)
    assert any(word in text for text in found)
    assert differences(bundle.records[number], bundle.records[number], {}, exact=True) == []


def test_only_what_says_it_was_cheap_is_repeated_and_within_the_tolerance_elsewhere(content, files):
    header, runs = opened(content)
    header["environments"][0]["versions"]["torch"] = "1.0"
    for run in runs:
        start, outcome = run["spec"]["problem_settings"].get("start"), run["outcome"]
        outcome["history"] = {}
        if run["spec"]["method"] == "fragile@1" or start is None:
            outcome["timings"]["seconds"] = CHEAP_SECONDS + 1
        else:
            outcome["metrics"]["x"] *= {"upper": 1.005, "outer": 1.0, "lower": 1.02}[start]
    bundle = parse_bundle("elsewhere.jsonl.gz", sealed(header, runs))
    again = rerun(bundle, sample=99, seed=0, files=files, jobs=0)
    assert (again.possible, again.exact, again.close) == (3, 0, 2)
    (finding,) = again.findings
    assert "start=lower" in finding and "x recorded as" in finding
    assert again.obstacles == (f"12 runs took longer than {CHEAP_SECONDS:g} s",)


@pytest.mark.parametrize(
    ("unit", "value", "exact", "agrees"),
    [
        ("%", 53.5, False, True),
        ("%", 53.6, False, False),
        ("%", 50.000001, True, False),
        ("", 50.5, False, True),
        ("", 50.6, False, False),
    ],
)
def test_percentages_on_another_setup_may_differ_by_three_points_more(bundle, unit, value, exact, agrees):
    metrics = {"accuracy@90": Metric("accuracy@90", "accuracy", unit=unit)}

    def measured(accuracy):
        return replace(bundle.records[0], outcome=Outcome("done", metrics={"accuracy@90": accuracy}))

    assert (differences(measured(50.0), measured(value), metrics, exact=exact) == []) == agrees


def test_the_setup_is_versions_processor_and_device(bundle):
    here = bundle.records[0].environment
    assert same_setup(here, replace(here, code=None))
    assert not same_setup(here, replace(here, versions={**here.versions, "numpy": "0"}))
    assert not same_setup(here, replace(here, hardware={**here.hardware, "cpu": "another"}))


def test_on_a_gpu_bits_must_agree_only_with_deterministic_algorithms(bundle):
    here = bundle.records[0].environment

    def gpu(deterministic):
        return replace(here, hardware={**here.hardware, "device": "cuda (Some GPU)", "deterministic": deterministic})

    assert same_setup(gpu(True), gpu(True))
    assert not same_setup(gpu(False), gpu(False)) and not same_setup(gpu(True), gpu(False))
    other = replace(here, hardware={**here.hardware, "channels_last": False})
    earlier = replace(here, hardware={key: value for key, value in here.hardware.items() if key != "channels_last"})
    assert same_setup(here, here) and not same_setup(here, other) and same_setup(earlier, other)


def test_a_repeated_run_on_a_gpu_may_differ_like_another_seed(bundle):
    first = bundle.records[0]
    gpu = replace(first.environment, hardware={**first.environment.hardware, "device": "cuda (Some GPU)"})
    runs = [
        replace(first, spec=replace(first.spec, seed=seed), outcome=Outcome("done", metrics={"x": x}), environment=gpu)
        for seed, x in enumerate((1.0, 2.0, 3.0))
    ]
    spread = seed_spread(runs, runs[0])
    assert spread == {"x": 1.0}
    near, far = (replace(runs[0], outcome=Outcome("done", metrics={"x": x})) for x in (3.9, 4.2))
    assert differences(runs[0], near, {}, spread, exact=False) == []
    assert differences(runs[0], near, {}, {}, exact=False) != []
    assert differences(runs[0], far, {}, spread, exact=False) != []
    assert seed_spread(runs[:2], runs[0]) == {}, "two seeds say too little"
    assert seed_spread([replace(run, environment=first.environment) for run in runs], first) == {}, (
        "a CPU repeats itself"
    )


def test_without_the_plugin_nothing_is_repeated_and_that_is_said(bundle):
    again = rerun(bundle, sample=5, seed=0, files={}, jobs=0)
    assert (again.possible, again.exact, again.close, again.findings) == (0, 0, 0, ())
    assert [text.split(" is not given")[0] for text in again.obstacles] == [
        "the file of fragile",
        "the file of unit-sum",
    ]


def test_a_plugin_with_another_hash_is_not_even_imported(folder, bundle, tmp_path):
    other = tmp_path / "mine.py"
    other.write_text(folder.joinpath("mine.py").read_text() + f"\nopen({str(tmp_path / 'ran')!r}, 'w')\n")
    again = rerun(bundle, sample=5, seed=0, files=plugin_files([str(tmp_path)]), jobs=0)
    assert again.exact == 0 and len(again.obstacles) == 2
    assert not (tmp_path / "ran").exists()


def test_source_inside_a_bundle_is_never_run(folder, content, tmp_path):
    code = f"open({str(tmp_path / 'ran')!r}, 'w')\n"
    digest = hashlib.sha256(code.encode()).hexdigest()
    text = json.dumps(opened(content)).replace(opened(content)[0]["methods"][0]["source"], digest)
    header, runs = json.loads(text)
    header["sources"] = {digest: code}
    evil = parse_bundle("evil.jsonl.gz", sealed(header, in_order([renamed(run) for run in runs])))
    assert findings(evil) == []
    assert evil.sources == {digest: code}
    assert rerun(evil, sample=5, seed=0, files=plugin_files([str(folder)]), jobs=0).exact == 0
    assert not (tmp_path / "ran").exists()


def test_a_file_that_defines_something_else_is_an_obstacle(content, tmp_path):
    (tmp_path / "empty.py").write_text("x = 1\n")
    (tmp_path / "broken.py").write_text("raise RuntimeError('on import')\n")
    for name, word in (("empty", "does not define"), ("broken", "fails on import")):
        digest = hashlib.sha256((tmp_path / f"{name}.py").read_bytes()).hexdigest()
        text = json.dumps(opened(content)).replace(opened(content)[0]["methods"][0]["source"], digest)
        header, runs = json.loads(text)
        bundle = parse_bundle("b.jsonl.gz", sealed(header, in_order([renamed(run) for run in runs])))
        again = rerun(bundle, sample=5, seed=0, files=plugin_files([str(tmp_path)]), jobs=0)
        assert again.exact == 0 and all(word in text for text in again.obstacles)


def test_a_plugin_path_that_is_not_there_is_the_users_mistake(tmp_path):
    with pytest.raises(UserError, match="no such Python file"):
        plugin_files([str(tmp_path / "nothing.py")])
