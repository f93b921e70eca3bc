"""Reference bundles: whole suites of shipped methods, which count as stored runs."""

import contextlib
import hashlib
import json

import pytest

from mobench.core.registry import methods
from mobench.leaderboard.site.reading import read_results
from mobench.leaderboard.site.submissions import read_submissions
from mobench.planning.suite import load_suite
from mobench.store.folder import Store
from mobench.submissions import BundleError, expected_runs, parse_bundle, read_bundle
from mobench.submissions.collecting import thinned
from mobench.submissions.curves import KeptCurve, drawn_curves
from mobench.submissions.name_conflicts import TakenNames
from mobench.submissions.reference import checked
from mobench.submissions.verdict_file import read_verdicts
from tests.commands import run_here
from tests.submissions.conftest import run_mobench
from tests.submissions.tampering import in_order, opened, renamed, sealed

SUITE = ("suite=theory-descent", "profile=quick")
NAME = "reference-theory-descent.jsonl.gz"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with the stored runs of a small suite, `out`, and their reference bundle, alone in `shipped`."""
    path = tmp_path_factory.mktemp("reference")
    (path / "shipped").mkdir()
    run_here("run", *SUITE, "results=out", "jobs=0", "--quiet", cwd=path)
    text = run_here(
        "submit",
        "reference=yes",
        *SUITE,
        "results=out",
        "by=Us",
        "notes=On a quiet machine.",
        f"out=shipped/{NAME}",
        cwd=path,
    )
    assert "48 runs (0 failed)" in text and "pull request" not in text
    return path


def packed(made):
    return (made / "shipped" / NAME).read_bytes()


def table_of(store, submissions=None, warnings=None):
    said = [] if warnings is None else warnings
    found = read_submissions(submissions, None, said.append)
    return next(read_results(Store(store), found.parts, found.references, said.append)), found


def test_a_reference_alone_gives_what_the_stored_runs_give(made, tmp_path):
    stored, _ = table_of(made / "out")
    shipped, found = table_of(tmp_path / "nothing", made / "shipped")
    columns = ["id", "method", "loss/quadratic", "pareto_residual", "seconds_per_step", "contender", "submitted"]
    one, other = (results.table.sort_values("id")[columns].reset_index(drop=True) for results in (stored, shipped))
    assert one.equals(other)
    assert shipped.submitted == {} and shipped.unranked == frozenset(), "they are ranked like stored runs"
    assert shipped.planned == stored.planned == 48
    assert [claim.holds for claim in shipped.claims] == [True] * 4 == [claim.holds for claim in stored.claims]
    assert [claim.cases for claim in shipped.claims] == [claim.cases for claim in stored.claims]
    kept = dict(shipped.histories())
    assert kept.keys() == dict(stored.histories()).keys() == set(shipped.table["id"]), "plots find their curves"
    reference = found.references["theory-descent", "quick"]
    written = f"{NAME}, by Us, written with mobench {reference.mobench}; not repeated: 0 of 48 runs"
    assert reference.words == f"{written}. On a quiet machine."


def test_a_run_of_the_results_folder_wins_over_the_same_run_of_a_reference(made, tmp_path):
    header, runs = opened(packed(made))
    for run in runs:
        run["outcome"]["metrics"]["loss/quadratic"] += 1.0
    (tmp_path / NAME).write_bytes(sealed(header, runs))
    run_here("run", *SUITE, "methods=mgda", "results=mine", "jobs=0", "--quiet", cwd=tmp_path)
    mixed, _ = table_of(tmp_path / "mine", tmp_path)
    stored, _ = table_of(made / "out")
    values = [results.table.set_index("id")["loss/quadratic"] for results in (mixed, stored)]
    raised = (values[0] - values[1]).round(6)
    is_mgda = mixed.table.set_index("id")["method"] == "mgda"
    assert len(mixed.table) == 48 and set(raised[is_mgda]) == {0.0} and set(raised[~is_mgda]) == {1.0}


def test_a_reference_is_verified_by_repeating_runs(made, tmp_path):
    kept = f"verified={tmp_path}"
    text = run_mobench("leaderboard", "verify", "submissions=shipped", "budget=60", "seed=1", kept, cwd=made)
    assert "a reference of mobench" in text and "2 methods that ship with it" in text
    assert "all methods on theory-descent (quick): repeated to the last bit: 48 of 48" in " ".join(text.split())
    assert "  VERIFIED" in text and "not ranked" not in text
    found = read_submissions(made / "shipped", tmp_path, print)
    assert found.references["theory-descent", "quick"].verdict == "repeated to the last bit: 48 of 48 runs"


def test_a_kept_verdict_is_shown_as_long_as_the_bundle_is_the_same(made, tmp_path):
    """It says how many runs were repeated, how closely they agree, by which code and when; nothing else is shown."""
    file = tmp_path / "verdicts.json"

    def shown(shipped):
        found = read_submissions(shipped, None, print, read_verdicts(file))
        return found.references["theory-descent", "quick"].verdict

    def verify(shipped, *words, code=0):
        words = (f"submissions={shipped}", f"verdicts={file}", "budget=0", *words)
        run_mobench("leaderboard", "verify", *words, cwd=made, code=code)

    verify("shipped")
    assert json.loads(file.read_bytes()) == {"bundles": []}, "nothing was repeated"
    assert shown(made / "shipped") == "not repeated: 0 of 48 runs"

    verify("shipped", f"verified={made / 'out'}")
    (kept,) = json.loads(file.read_bytes())["bundles"]
    assert kept["sha256"] == hashlib.sha256(packed(made)).hexdigest() and kept["equal"] == "to the last bit"
    assert (len(kept["repeated"]), kept["runs"], kept["bundle"]) == (48, 48, NAME)
    code = f"mobench {kept['mobench']}{', commit ' + kept['commit'] if kept['commit'] else ''}"
    words = f"48 of 48 runs repeated, equal to the last bit ({code}, {kept['day']})"
    assert shown(made / "shipped") == words

    verify("shipped")
    assert shown(made / "shipped") == words, "what was repeated before stays"

    header, runs = opened(packed(made))
    other = tmp_path / "other"
    other.mkdir()
    (other / NAME).write_bytes(sealed({**header, "notes": "Written anew."}, runs))
    assert shown(other) == "not repeated: 0 of 48 runs", "another content was not repeated"

    runs[0]["outcome"]["metrics"]["loss/quadratic"] += 1.0
    (other / NAME).write_bytes(sealed(header, runs))
    verify(other, f"verified={made / 'out'}", code=1)
    assert json.loads(file.read_bytes()) == {"bundles": []}, "what differs when repeated has no verdict"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "not an object"),
        ('{"bundles": [{}]}', "is missing"),
        ('{"bundles": [], "more": 1}', "not a known field"),
        ("no", "not JSON"),
    ],
)
def test_a_file_that_holds_no_verdicts_is_refused_and_left_alone(made, tmp_path, text, reason):
    file = tmp_path / "verdicts.json"
    file.write_text(text)
    words = ("submissions=shipped", "budget=0", f"verdicts={file}")
    assert reason in run_mobench("leaderboard", "verify", *words, cwd=made, code=2)
    assert file.read_text() == text


def test_a_forged_curve_or_metric_of_a_repeated_run_refuses_the_bundle(made, tmp_path):
    header, runs = opened(packed(made))
    runs[3]["outcome"]["history"]["losses"][5][0] *= 1.001
    (tmp_path / NAME).write_bytes(sealed(header, runs))
    said = []
    found = read_submissions(tmp_path, made / "out", said.append)
    assert not found.references and "the curves differ" in said[0]


def test_runs_of_an_earlier_version_are_left_out_in_one_line(made, tmp_path):
    header, runs = opened(packed(made))
    changed = json.loads(json.dumps([header, runs]).replace(f"pcd@{methods()['pcd'].version}", "pcd@0"))
    for method in changed[0]["methods"]:
        method["version"] = 0 if method["name"] == "pcd" else method["version"]
    bundle = parse_bundle(NAME, sealed(changed[0], in_order([renamed(run) for run in changed[1]])))
    found = checked(bundle)
    count = sum(run["spec"]["method"].startswith("pcd@") for run in runs)
    now = methods()["pcd"].version
    assert found.left_out == (f"{count} runs of pcd@0 are stale: this mobench ships version {now}",)
    assert found.findings == () and {one.spec.method for one in found.bundle.records} == {
        f"mgda@{methods()['mgda'].version}"
    }


def test_runs_that_the_suite_no_longer_asks_for_are_left_out_in_one_line(made, monkeypatch):
    now = load_suite("theory-descent", "quick")
    fewer = type(now)(**{**vars(now), "seeds": (0, 7)})
    monkeypatch.setattr(expected_runs, "load_suite", lambda *_: fewer)
    expected_runs.requirements.cache_clear()
    with contextlib.ExitStack() as after:
        after.callback(expected_runs.requirements.cache_clear)
        found = checked(parse_bundle(NAME, packed(made)))
    assert found.left_out == (
        "24 runs that theory-descent (quick) no longer asks for, since it was changed",
        "theory-descent (quick) was changed and asks for 24 runs more; `make results` makes them",
    )
    assert found.findings == () and {one.spec.seed for one in found.bundle.records} == {0}


def test_a_reference_that_lacks_runs_is_refused(made):
    header, runs = opened(packed(made))
    found = checked(parse_bundle(NAME, sealed(header, runs[1:])))
    assert "1 of 48 runs are missing" in found.findings[0]


def test_a_folder_gets_a_reference_for_each_suite(made, tmp_path):
    words = ("submit", "reference=yes", "results=out", "by=Us", f"out={tmp_path}")
    run_here(*words, *SUITE, cwd=made)
    assert [path.name for path in tmp_path.iterdir()] == ["reference-theory-descent-quick.jsonl.gz"]
    again = run_here(*words, "suite=theory", "profile=quick", cwd=made, code=2)
    assert "there are no runs of theory-directions (quick)" in again


def test_a_reference_goes_by_its_name(made):
    found = checked(parse_bundle("mine.jsonl.gz", packed(made)))
    assert found.findings == ("the name of a reference bundle starts with reference-",)


def test_a_plugin_has_no_place_in_a_reference(made):
    header, runs = opened(packed(made))
    header["methods"][0]["source"] = "a" * 64
    with pytest.raises(BundleError, match="shipped methods only"):
        parse_bundle(NAME, sealed(header, runs))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["out=mine.jsonl.gz", *SUITE], "starts with reference-"),
        (["out=reference-x.jsonl.gz"], "takes suite=NAME"),
        (["out=reference-x.jsonl.gz", *SUITE, "methods=pcd"], "takes no methods="),
        (["out=reference-x.jsonl.gz", *SUITE, "source=yes"], "takes no plugins and no source"),
        (["out=reference-x.jsonl.gz", "suite=plane"], "there are no runs of plane (standard)"),
        (
            ["out=reference-x.jsonl.gz", "suite=theory-descent", "profile=standard"],
            "mobench run suite=theory-descent profile=standard results=out",
        ),
    ],
)
def test_what_is_no_reference_is_refused_in_words(made, words, reason):
    text = run_here("submit", "reference=yes", "by=Us", "results=out", *words, cwd=made, code=2)
    assert reason in " ".join(text.split()) and not (made / "reference-x.jsonl.gz").exists()


def test_curves_follow_from_the_plots_and_claims_of_a_suite(made):
    assert drawn_curves(load_suite("escape")) == {
        "cosines": KeptCurve("least", 3),
        "gradient_norms": KeptCurve("first", 3),
    }
    assert drawn_curves(load_suite("physics"))["picture"] == KeptCurve("last", 5)
    assert drawn_curves(load_suite("fronts")) == {}
    exact = drawn_curves(load_suite("theory-descent"))
    assert set(exact) == {"alignment", "gradient_norms", "losses", "update_norm"}
    assert set(exact.values()) == {KeptCurve("all", None)}


@pytest.mark.parametrize(
    ("kept", "history", "left"),
    [
        (KeptCurve("first", 3), [[1.23456, 9.0], None], {"step": [0], "curve": [[1.23]]}),
        (KeptCurve("least", 3), [[0.5, -0.25, None], [None]], {"step": [0, 1], "curve": [[-0.25], []]}),
        (KeptCurve("last", 2), [[[1.0, 2.0]], [[3.14, 4.0]]], {"step": [1], "curve": [[[3.1, 4.0]]]}),
        (KeptCurve("all", None), [0.1234567890123, None], {"step": [0], "curve": [0.1234567890123]}),
        (KeptCurve("all", 3), [None, None], {}),
    ],
)
def test_thinning_keeps_what_is_drawn_and_twice_is_once(made, kept, history, left):
    record = next(iter(Store(made / "out").records()))
    whole = type(record)(
        **{**vars(record), "outcome": type(record.outcome)("done", {"loss": 1.0}, {"step": [0, 1], "curve": history})}
    )
    once = thinned(whole, {"curve": kept})
    assert once.outcome.history == left
    assert thinned(once, {"curve": kept}).outcome.history == left


def test_numbers_of_a_diverged_run_that_no_bundle_may_hold_are_left_out_of_its_curves():
    kept = KeptCurve("all", 3)
    assert kept.of([1.28e154, -1e200, 1e150, 1.2345, None]) == [None, None, 1e150, 1.23, None]
    assert KeptCurve("all", None).of([1e160, 0.1]) == [None, 0.1]


def test_a_suite_whose_headline_is_derived_from_its_table_can_ship(tmp_path):
    suite, name = ("suite=multi-output", "profile=quick"), "reference-multi-output.jsonl.gz"
    run_here("run", *suite, "results=out", "jobs=0", "--quiet", cwd=tmp_path)
    assert load_suite("multi-output", "quick").metrics[0] == "delta_m"
    assert "(0 failed)" in run_here(
        "submit", "reference=yes", *suite, "results=out", "by=Us", f"out={name}", cwd=tmp_path
    )


def test_suites_that_ask_for_the_same_run_can_ship_both_and_nobody_else_can_send_it_in(made, tmp_path):
    header, runs = opened(packed(made))
    (tmp_path / NAME).write_bytes(packed(made))
    again = tmp_path / "reference-zz.jsonl.gz"
    again.write_bytes(packed(made))
    taken = TakenNames()
    assert [taken.conflicts(read_bundle(path)) for path in (tmp_path / NAME, again)] == [[], []]
    runs[0]["outcome"]["metrics"]["loss/quadratic"] += 1.0
    again.write_bytes(sealed(header, runs))
    assert taken.conflicts(read_bundle(again)) == ["some of its runs are already in reference-zz.jsonl.gz"]
