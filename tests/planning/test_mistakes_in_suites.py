"""Every kind of mistake in a suite file is refused with its path before a run or a results folder exists."""

import pytest

from mobench.cli import main
from mobench.core.metric import Metric
from mobench.core.problem import Problem
from mobench.planning.yaml_text import read_yaml
from mobench.running import executor, fork_server
from mobench.store.folder import Store

GOOD = {
    "title": "A suite",
    "problems": "{double-well@1: {k: [2, 3]}}",
    "methods": "{mgda: {}, ws: [{weight: 0.5}, {weight: 0.1, form: penalty}]}",
    "seeds": "[0, 1]",
    "training": "{steps: 5}",
    "metrics": "[primary_gradient_norm]",
    "tables": "[{title: norms, value: primary_gradient_norm, columns: problem.k}]",
    "plots": "[aim]",
    "profiles": "{quick: {seeds: 1}}",
}

PUBLISHED = "tables: [{where: {problem: double-well@1}, columns: [mgda, ws], instances: [{primary_gradient_norm: %s}]}]"

SHAPE = {
    "an unknown key": ({"problms": "{}"}, "unknown key problms.", "Did you mean 'problems'?"),
    "a type": ({"problems": "3"}, "problems=3 is not accepted", "a mapping"),
    "a text for a list": ({"metrics": "accuracy"}, "metrics=accuracy is not accepted", "a list"),
    "a number for a name": ({"metrics": "[3]"}, "metrics[0]=3 is not accepted", "a text"),
    "no problems": ({"problems": "{}"}, "needs problems"),
    "settings that are none": ({"methods": "{mgda: fast}"}, "methods.mgda=fast is not accepted", "a mapping"),
    "an empty list of variants": ({"methods": "{ws: []}"}, "methods.ws=[] is not accepted", "at least one entry"),
    "a mapping for a value": (
        {"methods": "{ws: [{weight: {a: 1}}]}"},
        "methods.ws[0].weight={a: 1} is",
        "a value, or a list",
    ),
    "a profile's key": ({"profiles": "{quick: {sed: 1}}"}, "unknown key profiles.quick.sed.", "Did you mean 'seeds'?"),
    "a profile's value": ({"profiles": "{quick: {seeds: none}}"}, "profiles.quick.seeds=none", "a count like 3"),
    "profiles in a profile": ({"profiles": "{quick: {profiles: {}}}"}, "unknown key profiles.quick.profiles."),
    "a profile that is none": ({"profiles": "{quick: 3}"}, "profiles.quick=3 is not accepted", "a mapping"),
    "a default profile": ({"default_profile": "quik"}, "default_profile=quik", "Did you mean 'quick'?"),
    "an empty auto": ({"auto": "", "default_profile": "auto"}, "default_profile=auto", "Accepted: quick"),
    "an incomplete auto": ({"auto": "{cpu: quick}"}, "auto lacks the key cuda"),
    "an automatic profile": ({"auto": "{cpu: quick, cuda: slow, hint: x}"}, "auto.cuda=slow", "Accepted: quick"),
    "a table's key": (
        {"profiles": "{quick: {tables: [{title: a, value: b, columns: c, ovr: max}]}}"},
        "unknown key profiles.quick.tables[0].ovr.",
        "Did you mean 'over'?",
    ),
    "an incomplete table": ({"tables": "[{title: norms, value: x}]"}, "tables[0] lacks the key columns"),
    "an aggregate": (
        {"tables": "[{title: a, value: b, columns: c, over: mediann}]"},
        "tables[0].over=mediann is not accepted",
        "Did you mean 'median'?",
    ),
    "nested conditions": (
        {"tables": "[{title: a, value: b, columns: c, where: {problem.k: {low: 2}}}]"},
        "tables[0].where.problem.k=",
        "a value, or a list of values",
    ),
    "a published row": (
        {"published": "[{quantity: a, paper: [1], value: b}]"},
        "published[0].paper=[1]",
        "a number or a text",
    ),
    "a selected row": ({"selected": "[accuracy]"}, "selected[0]=accuracy is not accepted", "a mapping"),
    "a selected row's key": (
        {"selected": "[{label: a, value: b, selct: c}]"},
        "unknown key selected[0].selct.",
        "Did you mean 'select'?",
    ),
    "a direction": (
        {"selected": "[{label: a, value: b, select: c, best: highest}]"},
        "selected[0].best=highest",
        "Accepted: max, min",
    ),
    "a unit": ({"selected": "[{label: a, value: b, select: c, unit: 0}]"}, "selected[0].unit=0", "above 0"),
    "decimals": ({"selected": "[{label: a, value: b, select: c, decimals: two}]"}, "selected[0].decimals=two", "12"),
    "a plot without a name": ({"plots": "[{where: {}}]"}, "plots[0] lacks the key plot"),
    "a number of seeds": ({"seeds": ".inf"}, "seeds=inf", "a count like 3"),
    "no seeds": ({"seeds": "0"}, "seeds=0", "a count like 3"),
    "a seed twice": ({"seeds": "[1, 1]"}, "seeds=[1,1]", "each seed once"),
    "a seed that no generator takes": ({"seeds": "[9223372036854775808]"}, "seeds=[9223372036854775808]"),
    "a time limit": ({"time_limit": ".inf"}, "time_limit=inf", "seconds above 0"),
    "an included suite": ({"problems": None, "include": "[1]"}, "include[0]=1 is not accepted", "a text"),
    "an unknown included suite": (
        dict.fromkeys(GOOD) | {"include": "[plane, escap]"},
        "include[1]: unknown include 'escap'",
        "Did you mean 'escape'?",
    ),
    "an absent included file": (
        dict.fromkeys(GOOD) | {"include": "[not.yaml]"},
        "include[0]: ",
        "there is no such file",
    ),
    "more than an inclusion": ({"include": "[plane]"}, "a suite that includes others has a title"),
    "an absent file of numbers": (
        {"published_tables": "[prunning]"},
        "published_tables[0]: ",
        "Did you mean 'pruning'?",
    ),
}

MEANING = {
    "a problem": ({"problems": "{triple-well: {}}"}, "problems.triple-well: unknown problem 'triple-well'"),
    "a method": ({"methods": "{mdga: {}}"}, "methods.mdga: unknown method 'mdga'", "Did you mean 'mgda'?"),
    "a setting": ({"methods": "{ws: {wait: 1}}"}, "methods.ws: unknown setting of ws 'wait'", "'weight'"),
    "a setting's value": ({"problems": "{double-well@1: {k: 1}}"}, "double-well.k=1", "a whole number from 2"),
    "a date for a number": ({"problems": "{double-well@1: {k: 2020-01-01}}"}, "double-well.k=2020-01-01"),
    "a huge number": ({"problems": f"{{double-well@1: {{k: 1{'0' * 400}}}}}"}, "double-well.k=1000", "from 2"),
    "an empty sweep": ({"methods": "{ws: {weight: []}}"}, "methods.ws: ws.weight=[] is an empty sweep"),
    "a training setting": ({"training": "{stps: 5}"}, "training: unknown setting of training 'stps'", "'steps'"),
    "a sweep of training": ({"training": "{lr: [0.1, 0.2]}"}, "training.lr=[0.1,0.2]"),
    "a metric": ({"metrics": "[primary_gradnt_norm]"}, "metrics[0]: unknown metric", "'primary_gradient_norm'"),
    "a table's metric": (
        {"tables": "[{title: a, value: x, columns: problem.k}]"},
        "tables[0].value: unknown metric 'x'",
    ),
    "a table's columns": (
        {"tables": "[{title: a, value: primary_gradient_norm, columns: problem.kk}]"},
        "tables[0].columns: unknown column 'problem.kk'",
        "Did you mean 'problem.k'?",
    ),
    "a table's rows": (
        {"tables": "[{title: a, value: primary_gradient_norm, columns: problem.k, rows: methd}]"},
        "tables[0].rows: unknown column 'methd'",
    ),
    "a table's condition": (
        {"tables": "[{title: a, value: primary_gradient_norm, columns: problem.k, where: {method.weigth: 1}}]"},
        "tables[0].where: unknown column 'method.weigth'",
        "Did you mean 'method.weight'?",
    ),
    "a condition's method": (
        {"published": "[{quantity: a, paper: 1, value: seconds, where: {method: mdga}}]"},
        "published[0].where: unknown value for method: 'mdga'",
    ),
    "a condition's word": (
        {"published": "[{quantity: a, paper: 1, value: seconds, where: {method.form: convx}}]"},
        "published[0].where: unknown value for method.form: 'convx'",
        "Did you mean 'convex'?",
    ),
    "a published metric": (
        {"published": "[{quantity: a, paper: 1, value: x}]"},
        "published[0].value: unknown published metric 'x'",
    ),
    "a published group": (
        {"published": "[{quantity: a, paper: 1, value: seconds, by: sed}]"},
        "published[0].by: unknown column 'sed'",
    ),
    "a selected metric": ({"selected": "[{label: a, value: x, select: seconds}]"}, "selected[0].value: unknown metric"),
    "a metric that selects": ({"selected": "[{label: a, value: seconds, select: x}]"}, "selected[0].select: unknown"),
    "a fixed method": (
        {"selected": "[{label: a, value: seconds, select: seconds, fixed: {pdc: {tau: 1}}}]"},
        "selected[0].fixed.pdc: unknown value for method: 'pdc'",
    ),
    "a split": ({"split": "[method.fom]"}, "split[0]: unknown setting to split by 'method.fom'", "'method.form'"),
    "a plot": ({"plots": "[budgt]"}, "plots[0]: unknown plot 'budgt'", "Did you mean 'budget'?"),
    "a plot without what it needs": (
        {"plots": "[aim, end-by-setting]"},
        "plots[1]: the plot end-by-setting needs value",
    ),
    "a plot's option": (
        {"plots": "[{plot: end-by-setting, valu: x, value: seconds}]"},
        "plots[0]: unknown option of plot end-by-setting: 'valu'",
        "'value'",
    ),
    "a plot's metric": ({"plots": "[{plot: end-by-setting, value: x}]"}, "plots[0].value: unknown metric 'x'"),
    "a plot's setting": (
        {"plots": "[{plot: end-by-setting, value: seconds, setting: problem.scl}]"},
        "plots[0].setting: unknown column",
    ),
    "a plot's law": (
        {"plots": "[{plot: end-by-setting, value: seconds, law: 2 * problem.kk}]"},
        "plots[0].law: unknown column",
    ),
    "a law that is none": (
        {"plots": "[{plot: end-by-setting, value: seconds, law: 2 *}]"},
        "plots[0].law: '2 *' is not a formula",
    ),
    "a plot's condition": ({"plots": "[{plot: budget, where: {problem.q: 1}}]"}, "plots[0].where: unknown column"),
}


@pytest.fixture(autouse=True)
def untouched(monkeypatch):
    """Nothing may be started or stored; and the problem says what it measures."""
    touched = []
    monkeypatch.setattr(Store, "__init__", lambda self, root: touched.append(root))
    monkeypatch.setattr(executor, "execute", lambda *rest, **more: touched.append("executor"))
    monkeypatch.setattr(fork_server, "start", lambda: touched.append("fork server"))
    measured = (Metric("primary_gradient_norm", "gradient norm"), Metric("loss/wells", "wells"))
    monkeypatch.setattr(Problem, "metrics", lambda self: measured, raising=False)
    yield
    assert touched == []


def refused(tmp_path, capsys, text, *more, command="run"):
    (tmp_path / "mine.yaml").write_text(text)
    results = tmp_path / "results"
    assert main([command, f"suite={tmp_path / 'mine.yaml'}", f"results={results}", *more]) == 2
    assert not results.exists()
    message = capsys.readouterr().err
    assert message.startswith("mobench: ") and message.count("\n") == 1
    return message


def written(changes):
    return "\n".join(f"{key}: {value}" for key, value in {**GOOD, **changes}.items() if value is not None)


@pytest.mark.parametrize("kind", SHAPE)
def test_a_misshaped_suite_is_refused_with_its_path(tmp_path, capsys, kind):
    changes, *words = SHAPE[kind]
    message = refused(tmp_path, capsys, written(changes), "jobs=2")
    assert message.startswith("mobench: mine.yaml")
    assert all(word in message for word in words), message


@pytest.mark.parametrize("kind", MEANING)
def test_what_does_not_exist_is_refused_with_its_path(tmp_path, capsys, kind):
    changes, *words = MEANING[kind]
    message = refused(tmp_path, capsys, written(changes), "jobs=0")
    assert message.startswith("mobench: suite mine, profile standard: ")
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("title: [", ["line 1"]),
        ("title: a\ntitle: b", ["line 2", "'title' stands twice"]),
        ("problems: {double-well@1: {k: 2,\n k: 3}}", ["line 2", "'k' stands twice"]),
        ("1: a", ["the key '1' is not a text"]),
        ("on: a", ["the key 'on' is not a text"]),
        ("title: !!python/object/apply:os.getcwd []", ["line 1", "python/object"]),
        ("title: !!set {a}", ["line 1"]),
        ("seeds: !!int x", ["line 1", "cannot be read"]),
        (f"seeds: {'9' * 5000}", ["line 1", "cannot be read"]),
        (f"seeds: {'[' * 3000}{']' * 3000}", ["nested too deeply"]),
        ("seeds: &all [*all]", ["recursive"]),
        ("a: 1\n---\nb: 2", ["document"]),
        ("- 1", ["must hold a mapping"]),
        ("", ["must hold a mapping"]),
        ("title: \0", ["special characters"]),
    ],
)
def test_what_is_no_yaml_is_refused_with_its_line(tmp_path, capsys, text, words):
    message = refused(tmp_path, capsys, text)
    assert message.startswith("mobench: mine.yaml: ") and all(word in message for word in words), message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tables: [{colums: []}]", ["unknown key tables[0].colums.", "Did you mean 'columns'?"]),
        ("tables: [{columns: 3, instances: []}]", ["tables[0].columns=3", "a list"]),
        ("- 1", ["must hold a mapping"]),
        ("source: a", ["lacks the key tables"]),
        (
            PUBLISHED % "[one, two]",
            ["tables[0].instances[0].primary_gradient_norm=", "a number, or one for each column"],
        ),
        (PUBLISHED % "[1.0]", ["tables[0].instances[0].primary_gradient_norm has 1 numbers for 2 columns"]),
        (PUBLISHED.replace("_norm", "_nrm") % "1.0", ["tables[0].instances[0]: unknown metric 'primary_gradient_nrm'"]),
        (PUBLISHED.replace("mgda", "mdga") % "1.0", ["unknown value for method: 'mdga'", "Did you mean 'mgda'?"]),
        (PUBLISHED.replace("problem:", "problm:") % "1.0", ["unknown column 'problm'"]),
    ],
)
def test_mistakes_in_published_numbers_beside_the_suite_are_refused(tmp_path, capsys, text, words):
    (tmp_path / "numbers.yaml").write_text(text)
    message = refused(tmp_path, capsys, written({"published_tables": "[numbers.yaml]"}), "jobs=0")
    assert "numbers.yaml" in message and all(word in message for word in words), message


@pytest.mark.parametrize("command", ["report", "results"])
def test_commands_that_read_check_the_shape_first(tmp_path, capsys, command):
    changes, *words = SHAPE["an aggregate"]
    message = refused(tmp_path, capsys, written(changes), command=command)
    assert all(word in message for word in words)


def test_numbers_and_dates_are_read_as_people_write_them():
    assert read_yaml("[1e-4, 1E5, -2, .5, 1., 2020-01-01]") == [1e-4, 1e5, -2, 0.5, 1.0, "2020-01-01"]
    assert isinstance(read_yaml("3"), int)
    assert read_yaml("a: &a {b: 1}\nc: {<<: *a, d: 2}")["c"] == {"b": 1, "d": 2}
