"""Repeated runs: an honest bundle agrees to the last bit, a forged metric does not, and no stranger's code runs."""

import hashlib
import json
from dataclasses import replace

import pytest

from mobench.core.metric import Metric
from mobench.core.outcome import Outcome
from mobench.errors import UserError
from mobench.store.folder import Store
from mobench.submissions import findings, parse_bundle
from mobench.submissions.agreement import differences, same_setup, seed_spread
from mobench.submissions.collecting import plugin_files
from mobench.submissions.rerun import draw, rerun
from mobench.submissions.verdict import Verdict, judge, verdicts
from tests.commands import plugins_forgotten
from tests.submissions.tampering import in_order, opened, renamed, sealed


@pytest.fixture(scope="module")
def files(folder):
    return plugin_files([str(folder / "mine.py")])


@pytest.fixture(scope="module")
def repeated(bundle, files, tmp_path_factory):
    """All runs of the honest bundle, repeated once for this file."""
    store = Store(tmp_path_factory.mktemp("repeated"))
    with plugins_forgotten():
        again = rerun(bundle, store, budget=600.0, seed=1, files=files)
    assert (again.possible, again.drawn, again.obstacles) == (15, 15, ())
    return {record.id: record for record in store.records()}


def test_an_honest_bundle_is_repeated_to_the_last_bit(bundle, repeated):
    judged = verdicts(bundle, repeated)
    assert {row: verdict.words for row, verdict in judged.items()} == {
        ("plane", "standard", "fragile"): "repeated to the last bit: 6 of 6 runs",
        ("plane", "standard", "unit-sum"): "repeated to the last bit: 3 of 3 runs",
        ("scale-invariance", "quick", "unit-sum"): "repeated to the last bit: 6 of 6 runs",
    }
    assert all(verdict.proven and verdict.ranked for verdict in judged.values())


def test_runs_are_drawn_from_all_until_the_budget_is_spent(bundle):
    specs = [record.spec for record in bundle.records]
    costs = {spec.id: 1.0 for spec in specs}
    draws = [tuple(spec.id for spec in draw(specs, costs, 3.5, seed)) for seed in range(20)]
    assert draws[0] == tuple(spec.id for spec in draw(specs, costs, 3.5, 0))
    assert len(set(draws)) > 15 and {len(drawn) for drawn in draws} == {3}
    assert {id_ for drawn in draws for id_ in drawn} == {spec.id for spec in specs}
    assert len(draw(specs, costs, 99.0, 0)) == 15
    dear = costs | {specs[0].id: 3.0}
    first = [seed for seed in range(99) if draw(specs, costs, 99.0, seed)[0] == specs[0]]
    assert first and all(draw(specs, dear, 3.5, seed) == [specs[0]] for seed in first), "no cheaper one comes instead"


def test_what_a_record_claims_of_its_time_decides_nothing(content, files, tmp_path):
    header, runs = opened(content)
    for run in runs:
        run["outcome"]["metrics"] = {name: 0.99 * value for name, value in run["outcome"]["metrics"].items()}
        run["outcome"]["timings"] = {**run["outcome"]["timings"], "seconds": 1e9, "seconds_per_step": 1e6}
    forged = parse_bundle("forged.jsonl.gz", sealed(header, runs))
    store = Store(tmp_path)
    again = rerun(forged, store, budget=600.0, seed=0, files=files)
    assert (again.possible, again.drawn, again.obstacles) == (15, 15, ())
    judged = verdicts(forged, {record.id: record for record in store.records()})
    assert all(verdict.findings and not verdict.ranked for verdict in judged.values())
    later = rerun(forged, store, budget=600.0, seed=1, files=files)
    assert (later.possible, later.drawn) == (15, 0), "what was repeated before is not repeated again"


def test_runs_that_take_longer_here_than_the_budget_are_named(bundle, files, tmp_path):
    again = rerun(bundle, Store(tmp_path), budget=1e-4, seed=0, files=files)
    assert (again.possible, again.drawn) == (0, 0)
    assert again.obstacles == ("15 runs would take longer here than the budget of 0.0001 s",)
    assert rerun(bundle, Store(tmp_path), budget=0.0, seed=0, files=files).drawn == 0


def test_agreement_on_another_setup_is_a_weaker_verdict_and_ranks_only_what_was_repeated_in_full(bundle, repeated):
    def claimed(record, factor=1.0):
        versions = {**record.environment.versions, "torch": "1.0"}
        metrics = {name: factor * value for name, value in record.outcome.metrics.items()}
        outcome = replace(record.outcome, metrics=metrics, history={}, diagnostics=record.outcome.diagnostics)
        return replace(record, environment=replace(record.environment, versions=versions), outcome=outcome)

    theirs = [record for record in bundle.records if record.spec.method == "unit-sum@1"]
    forged = [claimed(record, 0.991) for record in theirs]
    some = {record.id: repeated[record.id] for record in theirs[:2]}
    weaker = judge(bundle, forged, some)
    assert (weaker.exact, weaker.close, weaker.findings) == (0, 2, ())
    assert weaker.words == "agrees within a tolerance, on another setup: 2 of 9 runs"
    assert not weaker.proven and not weaker.ranked
    whole = judge(bundle, forged, repeated)
    assert whole.ranked and not whole.proven, "all of its numbers are now the reviewer's"
    assert judge(bundle, [claimed(record, 1.02) for record in theirs], some).findings
    hidden = judge(bundle, [*theirs[:2], *(claimed(record) for record in theirs[2:])], some)
    assert (hidden.exact, hidden.close, hidden.elsewhere) == (2, 0, 7)
    assert not hidden.ranked, "an honest sample says nothing of runs that claim another setup"
    assert Verdict(runs=9).words == "not repeated: 0 of 9 runs" and not Verdict(runs=9).ranked


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


def test_builds_of_torch_are_different_setups_where_both_records_name_theirs(bundle):
    here = bundle.records[0].environment

    def built(torch_version):
        return replace(here, versions={**here.versions, "torch": torch_version})

    assert same_setup(built("2.6.0+cu124"), built("2.6.0+cu124"))
    assert not same_setup(built("2.6.0+cu124"), built("2.6.0+cpu"))
    assert same_setup(built("2.6.0"), built("2.6.0+cpu")), "what a record leaves out asks for more, not for less"
    assert not same_setup(built("2.6.0"), built("2.7.0+cpu")) and not same_setup(built("2.6.0"), built(None))


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("hardware", {"capability": "9.0"}),
        ("hardware", {"tf32_convolutions": False}),
        ("hardware", {"tf32_products": True}),
        ("hardware", {"jobs_per_gpu": 2}),
        ("versions", {"cuda": "12.6"}),
        ("versions", {"cudnn": "90500"}),
        ("versions", {"driver": "560.1"}),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_decides_the_numbers_of_a_gpu_makes_another_setup(bundle, part, change):
    here = bundle.records[0].environment
    way = {"tf32_convolutions": True, "tf32_products": False, "jobs_per_gpu": 1, "capability": "8.0"}
    gpu = replace(
        here,
        hardware={**here.hardware, "device": "cuda (Some GPU)", "deterministic": True, **way},
        versions={**here.versions, "cuda": "12.4", "cudnn": "90100", "driver": "550.54.14"},
    )
    (name,) = change
    other = replace(gpu, **{part: {**getattr(gpu, part), **change}})
    earlier = replace(gpu, **{part: {key: value for key, value in getattr(gpu, part).items() if key != name}})
    assert same_setup(gpu, gpu) and not same_setup(gpu, other)
    assert same_setup(gpu, earlier) and same_setup(earlier, other), "a record from before does not say"


def test_what_is_recorded_of_a_gpu_goes_through_a_bundle(content):
    header, runs = opened(content)
    told = {"capability": "8.0", "tf32_convolutions": True, "tf32_products": False, "jobs_per_gpu": 2}
    for setup in header["environments"]:
        setup["hardware"] |= {"device": "cuda (Some GPU)", **told}
        setup["versions"] |= {"torch": "2.6.0+cu124", "cuda": "12.4", "cudnn": "90100", "driver": None}
    (found,) = {
        (tuple(sorted(record.environment.versions.items(), key=str)), tuple(record.environment.hardware.items()))
        for record in parse_bundle("gpu.jsonl.gz", sealed(header, runs)).records
    }
    assert {*told.items()} <= {*found[1]} and ("torch", "2.6.0+cu124") in found[0] and ("driver", None) in found[0]


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


def test_without_the_plugin_nothing_is_repeated_and_that_is_said(bundle, tmp_path):
    again = rerun(bundle, Store(tmp_path), budget=60.0, seed=0, files={})
    assert (again.possible, again.drawn) == (0, 0)
    assert [text.split(" is not given")[0] for text in again.obstacles] == [
        "the file of fragile",
        "the file of unit-sum",
    ]


def test_a_plugin_with_another_hash_is_not_even_imported(folder, bundle, tmp_path):
    other = tmp_path / "mine.py"
    other.write_text(folder.joinpath("mine.py").read_text() + f"\nopen({str(tmp_path / 'ran')!r}, 'w')\n")
    again = rerun(bundle, Store(tmp_path), budget=60.0, seed=0, files=plugin_files([str(tmp_path)]))
    assert again.drawn == 0 and len(again.obstacles) == 2
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
    files = plugin_files([str(folder)])
    assert rerun(evil, Store(tmp_path), budget=60.0, seed=0, files=files).drawn == 0
    assert not (tmp_path / "ran").exists()


def test_a_bad_file_is_an_obstacle_and_is_imported_in_a_process_of_its_own(content, tmp_path):
    for name, code, word in (
        ("empty", "x = 1\n", "does not define"),
        ("broken", "raise RuntimeError('on import')\n", "on import"),
        ("leaving", "import os; os._exit(0)\n", "importing it"),
    ):
        file = tmp_path / f"{name}.py"
        file.write_text(code)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        text = json.dumps(opened(content)).replace(opened(content)[0]["methods"][0]["source"], digest)
        header, runs = json.loads(text)
        bundle = parse_bundle("b.jsonl.gz", sealed(header, in_order([renamed(run) for run in runs])))
        again = rerun(bundle, Store(tmp_path / name), budget=60.0, seed=0, files=plugin_files([str(file)]))
        assert again.drawn == 0 and again.obstacles and all(word in text for text in again.obstacles)


def test_a_plugin_path_that_is_not_there_is_the_users_mistake(tmp_path):
    with pytest.raises(UserError, match="no such Python file"):
        plugin_files([str(tmp_path / "nothing.py")])
