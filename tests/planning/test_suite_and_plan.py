import pytest

from mobench import Method, UserError, choice, text
from mobench.cli.run import Run
from mobench.planning import suite as suite_module
from mobench.planning.overrides import overlay, read_value
from mobench.planning.plan import GROUP_SIZE, make_groups, make_plan, make_plans
from mobench.planning.suite import load_suite, load_suites, parse_seeds, profiles_of, suite_files
from mobench.planning.yaml_text import read_yaml

SUITE = """
title: A test
problems: {double-well@1: {k: [2, 3]}}
methods:
  mgda: {}
  pcd: {tau: [0.1, 0.2]}
  ws: [{weight: 0.5}, {weight: [0.01, 0.1], form: penalty}]
seeds: [7, 42, 3]
training: {optimizer: sgd, lr: 0.05, steps: 5}
profiles:
  quick: {seeds: 1, methods: {pcd: {tau: 0.3}}}
"""


@pytest.fixture
def suite(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(SUITE)
    return str(file)


def plan(name, profile=None, *arguments):
    return make_plan(load_suite(name, profile), Run.read(arguments).overrides)


def knobs(plan, method, key):
    return sorted({spec.method_settings[key] for spec in plan.specs if spec.method == f"{method}@1"})


def test_numbers_are_read_as_people_write_them():
    assert read_yaml("[1e-4, 1E5, -2, .5, 1.]") == [1e-4, 1e5, -2, 0.5, 1.0]
    assert isinstance(read_yaml("3"), int)


def test_the_product_of_problems_methods_sweeps_and_seeds(suite):
    made = plan(suite)
    assert len(made.specs) == 2 * (1 + 2 + 3) * 3
    assert len({spec.id for spec in made.specs}) == len(made.specs)
    assert knobs(made, "pcd", "tau") == [0.1, 0.2]
    assert {
        (spec.method_settings["weight"], spec.method_settings["form"]) for spec in made.specs if "ws" in spec.method
    } == {
        (0.5, "convex"),
        (0.01, "penalty"),
        (0.1, "penalty"),
    }


def lengths(made, method="mgda"):
    found = [spec.run_training for spec in made.specs if spec.method == f"{method}@1"]
    return {(training["steps"], training["epochs"]) for training in found}


def test_of_two_lengths_of_a_run_the_more_specific_one_counts(tmp_path):
    file = tmp_path / "long.yaml"
    own = "every_method: {training.epochs: 4}\nmethods: {mgda: {}, ws: {training.steps: 6}}"
    text = SUITE.replace("steps: 5", "epochs: 3").replace("seeds: 1,", "seeds: 1, training: {steps: 8},")
    file.write_text(text)
    assert lengths(plan(str(file))) == {(1000, 3)}
    assert lengths(plan(str(file), "quick")) == lengths(plan(str(file), None, "training.steps=8")) == {(8, 0)}
    assert lengths(plan(str(file), "quick", "training.epochs=2")) == {(8, 2)}
    once = plan(str(file), None, "methods.mgda.training.steps=9")
    assert lengths(once) == {(9, 0)} and lengths(once, "ws") == {(1000, 3)}
    file.write_text(f"problems: {{double-well@1: {{}}}}\n{own}\ntraining: {{optimizer: sgd, steps: 5}}")
    assert lengths(plan(str(file))) == {(5, 4)} and lengths(plan(str(file)), "ws") == {(6, 0)}
    assert lengths(plan(str(file), None, "methods.mgda.training.steps=7")) == {(7, 0)}


@pytest.mark.parametrize("place", ["suite", "profile", "entry", "line", "line for a method"])
def test_two_lengths_side_by_side_are_refused(tmp_path, place):
    both = "training: {steps: 300, epochs: 3}"
    changed = {
        "suite": ("training: {optimizer: sgd, lr: 0.05, steps: 5}", both),
        "profile": ("quick: {seeds: 1,", f"quick: {{seeds: 1, {both},"),
        "entry": ("mgda: {}", "mgda: {training.steps: 300, training.epochs: 3}"),
    }.get(place, ("", ""))
    line = {
        "line": ["training.steps=300", "training.epochs=3"],
        "line for a method": ["methods.mgda.training.steps=300", "methods.mgda.training.epochs=3"],
    }.get(place, [])
    file = tmp_path / "both.yaml"
    file.write_text(SUITE.replace(*changed))
    with pytest.raises(UserError, match=r"training\.steps=300 and training\.epochs=3 stand side by side"):
        plan(str(file), "quick", *line)


def test_a_profile_is_laid_over_the_suite(suite):
    made = plan(suite, "quick")
    assert made.suite.profile == "quick"
    assert {spec.seed for spec in made.specs} == {7}
    assert knobs(made, "pcd", "tau") == [0.3]


def test_overrides_reach_every_setting(suite):
    made = plan(
        suite,
        None,
        "methods=pcd,mgda",
        "seeds=2",
        "methods.pcd.tau=[0.01,0.1]",
        "problems.double-well.k=4",
        "training.lr=0.5",
    )
    assert {spec.method for spec in made.specs} == {"pcd@1", "mgda@1"}
    assert {spec.seed for spec in made.specs} == {7, 42}
    assert knobs(made, "pcd", "tau") == [0.01, 0.1]
    assert {spec.problem_settings["k"] for spec in made.specs} == {4}
    assert {spec.training["lr"] for spec in made.specs} == {0.5}


def test_a_method_can_be_added_and_one_value_per_objective_is_a_list_in_a_list(suite):
    added = plan(suite, None, "methods=+famo")
    assert {spec.method for spec in added.specs} == {"mgda@1", "pcd@1", "ws@1", "famo@1"}
    per_objective = plan(suite, None, "methods=pcd", "methods.pcd.tau=[[0.1,0.2]]", "problems.double-well.k=3")
    assert knobs(per_objective, "pcd", "tau") == [(0.1, 0.2)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["method=pcd"], ["'method'", "Did you mean 'methods'?"]),
        (["methods=pdc"], ["unknown method 'pdc'", "'pcd'"]),
        (["methods.pcd.taw=0.1"], ["'taw'", "Did you mean 'tau'?"]),
        (["methods.pcd.tau=2"], ["pcd.tau=2", "[0, 1]"]),
        (["methods.pcd.tau=[0.1,2]"], ["pcd.tau=2"]),
        (["methods.pcd.tau=[]"], ["empty sweep"]),
        (["methods.pcd.tau=[[0.1,0.2,0.3]]"], ["pcd.tau", "3 values"]),
        (["methods.cagrad.c=0.1"], ["'cagrad'", "entry of methods"]),
        (["methods.pcd=0.1"], ["methods.NAME.SETTING=VALUE"]),
        (["problems=triple-well"], ["unknown problem 'triple-well'"]),
        (["problems.double-well.k=1"], ["double-well.k=1", "whole number from 2"]),
        (["training.lr=-1"], ["training.lr=-1"]),
        (["training.lrr=1"], ["'lrr'", "Did you mean 'lr'?"]),
        (["training.optimizer=lbfgs"], ["training.optimizer", "adam"]),
        (["seeds=0"], ["seeds=0"]),
        (["seeds=1.5"], ["seeds=1.5"]),
        (["seeds=.inf"], ["seeds=inf", "a count like 3"]),
        (["seeds=[9223372036854775808]"], ["seeds=[9223372036854775808]"]),
        (["methods.pcd.tau={a: 1}"], ["methods.pcd[0].tau", "a value, or a list of values"]),
        (["problems.double-well.k=1e400"], ["double-well.k=inf"]),
        (["time_limit=.inf"], ["time_limit"]),
        (["seeds=[1,1]"], ["each seed once"]),
        (["seeds=[-1]"], ["seeds=[-1]"]),
        (["seeds"], ["'seeds' is not of the form key=value"]),
        (["seeds=1", "seeds=2"], ["seeds is given twice"]),
        (["methods.pcd.tau=[0.1"], ["methods.pcd.tau=[0.1 cannot be read"]),
    ],
)
def test_mistakes_are_refused_before_anything_runs(suite, arguments, words):
    with pytest.raises(UserError) as caught:
        plan(suite, None, *arguments)
    for word in words:
        assert word in str(caught.value)


def test_unknown_suites_and_profiles():
    with pytest.raises(UserError, match="Did you mean 'escape'"):
        load_suite("escap")
    with pytest.raises(UserError, match="Did you mean 'quick'"):
        load_suite("escape", "quik")
    with pytest.raises(UserError, match="no such file"):
        load_suite("absent.yaml")


def test_seeds_by_count_take_the_listed_ones_first():
    assert parse_seeds(2, (42, 123, 7)) == (42, 123)
    assert parse_seeds(5, (1, 3)) == (1, 3, 0, 2, 4)


def test_every_shipped_suite_and_profile_makes_a_plan():
    for name in suite_files():
        for profile in ("quick", "standard", "paper"):
            if profile in profiles_of(name):
                assert all(made.specs for made in make_plans([name], profile, {}))


def test_groups_share_method_problem_shape_and_training_and_lose_no_run():
    specs = make_plans(["escape"], None, {})[0].specs
    groups = make_groups(specs)
    assert sorted(spec.id for group in groups for spec in group) == sorted(spec.id for spec in specs)
    assert all(len(group) <= GROUP_SIZE for group in groups)
    assert all(len({(spec.method, spec.problem_settings["k"]) for spec in group}) == 1 for group in groups)


def test_a_suite_may_include_suites_by_name_and_files_that_lie_beside_it(tmp_path, monkeypatch):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "own.yaml").write_text(SUITE)
    (tmp_path / "parts" / "both.yaml").write_text("include: [plane, own.yaml]")
    (tmp_path / "all.yaml").write_text("include: [parts/both.yaml, escape]")
    monkeypatch.chdir(tmp_path / "parts")
    assert [suite.name for suite in load_suites(["../all.yaml"])] == ["plane", "own", "escape"]
    (tmp_path / "parts" / "own.yaml").write_text("include: [../all.yaml]")
    with pytest.raises(UserError, match="includes itself"):
        load_suites(["../all.yaml"])


def test_a_package_whose_suites_are_missing_is_named_and_costs_only_its_own(tmp_path, monkeypatch):
    info = tmp_path / "half_installed-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: half-installed\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[mobench.suites]\nx = half_installed.suites\n")
    monkeypatch.syspath_prepend(tmp_path)
    suite_module._packaged_suites.cache_clear()
    with pytest.warns(RuntimeWarning, match="suites of the package half-installed .* cannot be found"):
        assert "plane" in suite_module.suite_files()
    suite_module._packaged_suites.cache_clear()


def test_texts_reach_a_plugins_setting_as_they_were_typed():
    class Titled(Method):
        title: str = text("", meaning="any text")
        mode: str = choice("on", ("on", "off"), meaning="a word that YAML takes for a truth value")

    for typed in ("@home", "a=b", "1e-3", "yes", "two words", "null"):
        assert read_value("key", Titled.settings["title"], typed) == typed
    assert read_value("key", Titled.settings["title"], "[a, b]") == ["a", "b"]
    assert read_value("key", Titled.settings["title"], '"[a"') == "[a"
    assert read_value("key", Titled.settings["mode"], "off") == "off"


def test_overlay_merges_mappings_and_replaces_the_rest():
    assert overlay({"a": {"b": 1, "c": [1]}, "d": 2}, {"a": {"c": [2, 3]}}) == {"a": {"b": 1, "c": [2, 3]}, "d": 2}


def test_what_a_suite_says_of_every_method_holds_for_listed_and_added_ones(tmp_path):
    file = tmp_path / "tuned.yaml"
    file.write_text(
        "problems: {two-wells@1: {}}\nmethods: {mgda: {}, ws: [{weight: 0.5}, {weight: 0.1, training.lr: 1.0}]}\n"
        "every_method: {training.lr: [0.1, 0.2]}\n"
    )
    made = make_plan(load_suite(str(file)), {"methods": ["+pcgrad"]})
    rates: dict[str, list[float]] = {}
    for spec in made.specs:
        rates.setdefault(spec.method, []).append(spec.run_training["lr"])
    assert rates == {"mgda@1": [0.1, 0.2], "ws@1": [0.1, 0.2, 1.0], "pcgrad@1": [0.1, 0.2]}


@pytest.mark.parametrize("suite", ["escape", "plane", "scale-invariance", "toy"])
def test_tuned_learning_rates_are_the_same_choice_for_all(suite):
    made = make_plan(load_suite(suite, "tuned-lr"), {})
    rates = {spec.method: set() for spec in made.specs}
    for spec in made.specs:
        rates[spec.method].add(spec.run_training["lr"])
    assert len({frozenset(tried) for tried in rates.values()}) == 1
    assert all(len(tried) == 3 for tried in rates.values())
