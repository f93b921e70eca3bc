"""What makes another experiment, and what only makes the same one larger or less complete."""

import json

import pytest

from mobench.planning.experiment import Experiment, difference
from mobench.planning.plan import make_plan, override_suite
from mobench.planning.suite import Suite, load_suite
from mobench.store.folder import Store

SUITE = Suite(
    name="mine",
    profile="standard",
    title="Mine",
    problems={"double-well@1": {"k": [2, 3], "dimension": 10}},
    methods={"mgda": {}, "pcd": {"tau": [0.1, 0.5]}, "ws": [{"form": "convex"}, {"form": "penalty", "weight": 0.1}]},
    training={"lr": 0.01, "steps": 100},
    seeds=(0, 1, 2),
)


def differs(suite=SUITE, **overrides):
    given = {key.replace("__", "."): value for key, value in overrides.items()}
    return difference(Experiment.of(override_suite(suite, given)), Experiment.of(suite)).words


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {"methods": ["pcd"]},
        {"methods": ["+famo"]},
        {"methods": ["+cagrad"], "methods__cagrad__c": "[0.1,0.9]"},
        {"methods__pcd__tau": "0.5"},
        {"seeds": 2},
        {"seeds": [2]},
        {"problems__double-well__k": "3"},
        {"methods__ws__form": "convex"},
        {"training__lr": "0.01"},
        {"time_limit": 5.0},
    ],
)
def test_a_part_of_the_profile_and_added_methods_are_the_same_experiment(overrides):
    assert differs(**overrides) == ""


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"training__steps": "30", "training__lr": "0.5"}, "training.lr=0.5, training.steps=30"),
        ({"training__schedule": "cosine"}, "training.schedule=cosine"),
        ({"seeds": 5}, "seeds=[0,1,2,3,4]"),
        ({"seeds": [7]}, "seeds=7"),
        ({"seeds": 100}, "seeds=[0,1,…,99] (100)"),
        ({"methods__pcd__tau": "[0.1,0.9]"}, "methods.pcd.tau=[0.1,0.9]"),
        ({"methods__pcd__normalization": "none"}, "methods.pcd.normalization=none"),
        ({"problems__double-well__k": "4"}, "problems.double-well@1.k=4"),
        ({"problems": ["+two-wells"]}, "problems=+two-wells@1"),
        ({"methods__ws__weight": "0.3"}, "methods.ws.weight=0.3"),
    ],
)
def test_everything_else_is_named_by_what_differs(overrides, words):
    assert differs(**overrides) == words


def test_training_of_one_method_alone_is_a_setting_of_that_method():
    """A suite's entries may carry `training.*` keys; a plan that has them where the profile does not differs."""
    own = Experiment.of(SUITE)
    point = own.methods["mgda"][0]
    other = Experiment(own.training, own.seeds, own.problems, {"mgda": [{**point, "training.lr": 0.5}]})
    assert difference(other, own).words == "methods.mgda.training.lr=0.5"
    assert difference(other, other).words == ""


def test_no_profile_of_a_shipped_suite_differs_from_itself():
    for name in ("compression", "normalization", "escape", "feasibility"):
        suite = load_suite(name)
        assert make_plan(suite, {}).differs == ""


def test_plans_of_one_experiment_are_kept_together_and_others_apart(tmp_path):
    store = Store(tmp_path)
    for ids, overrides in (
        ("a", {"methods": ["pcd"]}),
        ("b", {"methods": ["mgda"], "seeds": 2}),
        ("c", {"training.steps": "30"}),
        ("d", {"training.steps": "30", "methods": ["mgda"]}),
        ("abe", {"seeds": 4}),
    ):
        store.add_manifest(override_suite(SUITE, overrides), ids, SUITE)
    (manifest,) = store.manifests()
    own = Experiment.of(SUITE)
    found = {difference(part.experiment, own).words: "".join(part.runs) for part in manifest.experiments}
    assert found == {"": "ab", "training.steps=30": "cd", "seeds=[0,1,2,3]": "abe"}
    assert "".join(manifest.runs) == "abcde"
    assert json.loads(json.dumps(manifest.definition["training"])) == {"lr": 0.01, "steps": 100}


def test_a_plugin_that_is_not_loaded_is_compared_by_what_the_suite_says_of_it():
    stored = Experiment({"lr": 0.01}, [0], {"far-away@1": [{"k": 2, "rate": 1.5}]}, {"foreign": [{"a": 1, "b": 2}]})
    said = Experiment({"lr": 0.01}, [0], {"far-away@1": [{"k": 2}]}, {"foreign": [{"a": 1}]})
    assert difference(stored, said).words == ""
    assert difference(stored, Experiment(said.training, [0], said.problems, {"foreign": [{"a": 3}]})).words == (
        "methods.foreign.a=1"
    )
