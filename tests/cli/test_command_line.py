import contextlib
import io
import json
import re
import subprocess
import sys

import pandas as pd
import pytest

from mobench.cli import main
from mobench.cli.suite_check import refuse_mistakes
from mobench.core import registry
from mobench.core.columns import IDENTITY, MEASURED
from mobench.planning.suite import load_suites, profiles_of, suite_files

SUITE = """
title: A tiny suite
problems: {double-well@1: {k: [2, 3], dimension: 10}}
methods: {mgda: {}, pcd: {tau: [0.1, 0.5]}}
seeds: [0, 1]
training: {optimizer: sgd, lr: 0.05, steps: 30}
metrics: [primary_gradient_norm]
tables:
  - {title: "norms", value: primary_gradient_norm, columns: problem.k}
published:
  - {quantity: "MGDA at K=2", paper: 1.536, value: primary_gradient_norm, by: seed, where: {method: mgda, problem.k: 2}}
"""

PLUGIN = """
from mobench import Method, register

@register
class Thrower(Method):
    def weights(self, step):
        raise ValueError("thrown on purpose")
"""


def mobench(*arguments, cwd, code=0):
    """Run a command in this process; return what it prints, on standard error for exit code 2."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        returned = main(arguments)
    assert returned == code, out.getvalue() + err.getvalue()
    return out.getvalue() if code != 2 else err.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a suite that has been run by the real program with a worker process."""
    path = tmp_path_factory.mktemp("work")
    (path / "tiny.yaml").write_text(SUITE)
    (path / "thrower.py").write_text(PLUGIN)
    command = [sys.executable, "-m", "mobench", "run", "suite=tiny.yaml", "results=out", "jobs=1"]
    done = subprocess.run(command, cwd=path, capture_output=True, text=True, check=True, timeout=120)
    path.joinpath("first.txt").write_text(done.stdout)
    return path


@pytest.fixture(autouse=True)
def forget_plugins(monkeypatch):
    registry.methods(), registry.problems()
    monkeypatch.setattr(registry, "_found", {kind: dict(getattr(registry, kind)()) for kind in registry.PACKAGES})
    loaded = set(sys.modules)
    yield
    for name in set(sys.modules) - loaded:
        if name.startswith("mobench_plugin_"):
            del sys.modules[name]


def stored(folder):
    return sorted(path.name for path in folder.joinpath("out", "runs").rglob("*.json"))


def test_a_run_prints_its_tables_and_stores_every_run(folder):
    text = folder.joinpath("first.txt").read_text()
    assert "12 runs: 0 stored, 12 to do" in text
    assert re.search(r"^PCD  +\d\.\d{3} ", text, re.MULTILINE)
    assert "more: mobench results suite=" in text
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    assert len(stored(folder)) == 12


def test_the_same_command_again_does_nothing_anew(folder):
    before = {path: path.stat().st_mtime_ns for path in folder.joinpath("out", "runs").rglob("*.json")}
    assert "12 stored, 0 to do" in mobench("run", "suite=tiny.yaml", "results=out", "jobs=1", cwd=folder)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_dry_run_counts_and_writes_nothing(tmp_path, folder):
    text = mobench("run", f"suite={folder / 'tiny.yaml'}", "results=none", "seeds=3", "--dry-run", cwd=tmp_path)
    assert "18 runs, 18 to do" in text and "nothing was run" in text
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["suite=tny.yaml"], ["tny.yaml"]),
        (["suite=escap"], ["Did you mean 'escape'?"]),
        (["suit=escape"], ["Did you mean 'suite'?"]),
        (["suite=tiny.yaml", "methods.pcd.tau=2"], ["pcd.tau=2", "[0, 1]"]),
        (["suite=tiny.yaml", "jobs=-1"], ["jobs=-1"]),
        (["suite=tiny.yaml", "time_limit=0"], ["time_limit=0"]),
        (["suite=tiny.yaml", "time_limit=5", "jobs=0"], ["time_limit=5", "jobs=1"]),
        (["suite=tiny.yaml", "memory_limit=1GB", "jobs=0"], ["memory_limit=1", "jobs=1"]),
        (["suite=tiny.yaml", "retry=all"], ["retry", "failed"]),
        (["suite=tiny.yaml", "plugins=absent.py"], ["absent.py"]),
        (["suite=tiny.yaml", "device=gpu9"], ["gpu9"]),
        (["jobs=1"], ["suite=NAME is missing"]),
    ],
)
def test_mistakes_exit_with_2_and_leave_nothing_behind(folder, arguments, words):
    text = mobench("run", "results=refused", *arguments, cwd=folder, code=2)
    for word in words:
        assert word in text
    assert not (folder / "refused").exists()


def test_a_failing_plugin_costs_its_own_runs_and_is_retried_only_on_request(folder):
    arguments = (
        "run",
        "suite=tiny.yaml",
        "results=bad",
        "jobs=0",
        "plugins=thrower.py",
        "methods=mgda,thrower",
        "seeds=1",
    )
    text = mobench(*arguments, cwd=folder, code=1)
    assert "2 of 4 runs failed" in text
    assert "0 to do" in mobench(*arguments, cwd=folder, code=1)
    assert "2 to do" in mobench(*arguments, "retry=failed", cwd=folder, code=1)
    listed = mobench("results", "results=bad", "plugins=thrower.py", "--failed", cwd=folder)
    assert listed.count("ValueError: thrown on purpose") == 2
    shown = mobench("show", listed.split()[0], "results=bad", cwd=folder)
    assert "failed" in shown and 'raise ValueError("thrown on purpose")' in shown


def test_runs_that_diverge_are_results_and_weights_that_are_not_finite_are_failures(folder):
    arguments = ("suite=tiny.yaml", "results=far", "jobs=0", "seeds=1", "training.lr=100", "training.steps=30")
    text = " ".join(mobench("run", *arguments, "methods=ws", cwd=folder).split())
    assert "2 of them failed (2 diverged)" in text and "2 of 2 runs diverged: their losses or gradients left" in text
    assert "is inf at step" in mobench("results", "results=far", "--failed", cwd=folder)
    (folder / "nan.py").write_text(PLUGIN.replace("Thrower", "Nan").replace(
        'raise ValueError("thrown on purpose")', "return [float('nan')] * step.k"))  # fmt: skip
    text = " ".join(mobench("run", *arguments, "plugins=nan.py", "methods=ws,nan", cwd=folder, code=1).split())
    assert "2 of 4 runs diverged" in text and "2 of 4 runs failed" in text


@pytest.mark.parametrize("suite", ["tiny.yaml", "plane", "escape"])
def test_a_suite_of_which_no_run_finished_says_so_and_scores_nothing(folder, suite):
    arguments = (f"suite={suite}", f"results=none-of-{suite}", "plugins=thrower.py", "methods=thrower", "seeds=1")
    text = mobench("run", *arguments, "jobs=0", cwd=folder, code=1)
    assert "runs finished, so there is nothing to score" in text
    assert "Traceback" not in text


def test_a_suites_own_time_limit_does_not_hold_in_this_process(folder):
    limited = folder / "limited.yaml"
    limited.write_text(folder.joinpath("tiny.yaml").read_text() + "\ntime_limit: 1.0e-9\n")
    mobench("run", "suite=limited.yaml", "results=unlimited", "jobs=0", "seeds=1", "methods=ws", cwd=folder)
    mobench("run", "suite=limited.yaml", "results=limited", "jobs=1", "seeds=1", "methods=ws", cwd=folder, code=1)


def test_results_in_every_format(folder):
    csv = mobench("results", "suite=tiny.yaml", "results=out", "format=csv", cwd=folder)
    rows = json.loads(mobench("results", "results=out", "format=json", cwd=folder))
    mobench("results", "results=out", "format=parquet", "out=all.parquet", cwd=folder)
    table = pd.read_parquet(folder / "all.parquet")
    assert len(csv.splitlines()) == len(rows) + 1 == len(table) + 1 == 13
    assert table["primary_gradient_norm"].tolist() == [row["primary_gradient_norm"] for row in rows]
    scores = json.loads(mobench("results", "results=out", "view=scores", "format=json", cwd=folder))
    assert {row["contender"] for row in scores} == {"mgda", "pcd"} and len(scores) == 4
    budget = json.loads(mobench("results", "results=out", "view=budget", "format=json", cwd=folder))
    assert max(row["tried"] for row in budget) == 2
    short = mobench("results", "suite=tiny.yaml", "results=out", cwd=folder)
    whole = mobench("results", "suite=tiny.yaml", "results=out", "view=all", cwd=folder)
    assert all(text in whole and text not in short for text in ("norms", "MGDA at K=2", "1.536"))
    assert "more: mobench results suite=" in short and short.endswith(" results=out view=all\n")
    lines = pd.read_csv(io.StringIO(mobench("results", "results=out", "view=all", "format=csv", cwd=folder)))
    assert {"methods", "table-1"} <= set(lines["table"]) and set(lines["suite"]) == {"tiny"}


def test_the_standard_columns_are_those_that_every_table_has(folder):
    rows = json.loads(mobench("results", "results=out", "format=json", cwd=folder))
    outcome = json.loads(mobench("show", rows[0]["id"], "results=out", "--json", cwd=folder))["outcome"]
    prefixes = ("problem.", "method.", "training.", "diagnostic/", "total/", "loss/")
    declared = {*IDENTITY, *(metric.name for metric in MEASURED)}
    assert {name for name in rows[0] if not name.startswith(prefixes)} <= {*outcome["metrics"], *declared}


def test_asking_for_what_is_not_there(folder):
    assert "no such folder" in mobench("results", "results=nowhere", cwd=folder, code=2)
    assert "'escape'" in mobench("results", "suite=escape", "results=out", cwd=folder, code=2)
    assert "out=FILE" in mobench("results", "results=out", "format=parquet", cwd=folder, code=2)
    assert "cannot be written" in mobench(
        "results", "results=out", "format=csv", "out=no/such/place", cwd=folder, code=2
    )
    assert "zzzz" in mobench("show", "zzzz", "results=out", cwd=folder, code=2)


def test_results_and_show_by_method(folder):
    text = mobench("results", "method=mgda", "results=out", "view=all", cwd=folder)
    assert re.search(r"^MGDA +[12] of 2 ", text, re.MULTILINE), "the place is among all"
    assert "norms" in text and "PCD" not in text
    scores = json.loads(mobench("results", "method=pcd", "results=out", "view=scores", "format=json", cwd=folder))
    assert {row["contender"] for row in scores} == {"pcd"} and len(scores) == 2
    rows = json.loads(mobench("results", "method=mgda,pcd", "results=out", "format=json", cwd=folder))
    assert len(rows) == 12
    shown = mobench("show", "pcd", "results=out", cwd=folder)
    assert max(len(line.rstrip()) for line in shown.splitlines()) <= 80
    assert shown.count("double-well") == 8 and "pcd: 8 stored runs, 8 finished, 0 failed" in shown
    ids = {row["id"][:12] for row in rows if row["method"] == "pcd"}
    assert shown.startswith("tiny, profile ") and {line.split()[0] for line in shown.splitlines()[2:-1]} == ids
    for refused in (("results", "method=pdc"), ("results", "method=pdc", "view=runs"), ("show", "pdc")):
        assert "'pdc'. Did you mean 'pcd'?" in mobench(*refused, "results=out", cwd=folder, code=2)
    assert "'pcd' is a method with 8 runs" in mobench("show", "pcd", "results=out", "--json", cwd=folder, code=2)


def test_show_prints_a_run_and_its_record(folder):
    run = stored(folder)[0].removesuffix(".json")
    assert "primary_gradient_norm" in mobench("show", run[:10], "results=out", cwd=folder)
    record = json.loads(mobench("show", run[:10], "results=out", "--json", cwd=folder))
    assert record["id"] == run
    assert {"spec", "outcome", "environment", "memory", "started", "finished"} <= record.keys()


@pytest.mark.parametrize("what", ["methods", "problems", "suites"])
def test_lists(tmp_path, what):
    entries = json.loads(mobench("list", what, "--json", cwd=tmp_path))
    assert all({"id", "summary"} <= entry.keys() for entry in entries)
    text = mobench("list", what, cwd=tmp_path)
    assert [entry["id"] for entry in entries] == [line.split()[0] for line in text.splitlines()[:-1]]
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    whole = mobench("list", what, entries[0]["id"], cwd=tmp_path)
    assert max(len(line.rstrip()) for line in whole.splitlines()) <= 80
    folded = "".join(whole.split())
    assert all(name in folded for name in entries[0].get("settings", entries[0].get("methods", ())))


def test_text_of_a_plugin_is_listed_as_text(tmp_path):
    text = r"\x1b[31mRed\x1b[0m [/b] \u202e"
    lines = f"from mobench import Method, real, register\n\n\n@register\nclass Mine(Method):\n    '{text}'\n"
    lines += f"    tau: float = real(1.0, meaning='{text}')\n    def weights(self, step): pass\n"
    (tmp_path / "mine.py").write_text(lines)
    for what in ("methods", "params"):
        words = mobench("list", what, "plugins=mine.py", cwd=tmp_path)
        assert text in words and "\x1b" not in words and "\u202e" not in words


def test_check_reports_the_battery(folder):
    assert "conforms" in mobench("check", "methods=mgda", cwd=folder)
    assert "FAILED" in mobench("check", "methods=thrower", "plugins=thrower.py", cwd=folder, code=1)
    assert "say what to check" in mobench("check", "plugins=thrower.py", cwd=folder, code=2)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["run", "--help"],
        ["rn"],
        ["run", "suite=escap"],
        ["run", "suite=misspelt.yaml"],
        ["report", "suit=a"],
    ],
)
def test_help_and_misspelt_names_import_nothing_heavy(tmp_path, arguments):
    (tmp_path / "misspelt.yaml").write_text("problms: {}")
    script = (
        f"import sys; from mobench.cli import main; code = main({arguments})\n"
        "heavy = {'torch', 'numpy', 'pandas', 'scipy', 'pymoo', 'rich', 'seaborn'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == (0 if "--help" in arguments else 2), done.stderr


def test_the_shipped_schema_is_the_generated_one_and_every_suite_names_it(tmp_path):
    shipped = suite_files()["plane"].parent / "suite.schema.json"
    assert shipped.read_text(encoding="utf-8") == mobench("schema", "suite", cwd=tmp_path)
    described = json.loads(shipped.read_text(encoding="utf-8"))
    assert described["properties"]["tables"]["description"] == "Tables printed at the end of a run."
    assert described["$defs"]["TableEntry"]["additionalProperties"] is False
    for file in suite_files().values():
        assert file.read_text(encoding="utf-8").startswith(f"# yaml-language-server: $schema={shipped.name}\n")


def test_every_shipped_suite_passes_the_check_under_every_profile():
    for name in suite_files():
        for profile in profiles_of(name):
            refuse_mistakes(load_suites([name], profile), entries=True)


def test_a_table_that_other_problems_cannot_fill_is_left_out(tmp_path):
    few = ("training.steps=3", "methods=mgda", "jobs=0", "results=out", "--quiet")
    text = mobench("run", "suite=plane", "problems=quadratic", *few, cwd=tmp_path)
    assert "hypervolume ↑" in text and "x at the end (the joint" not in text
    few = (*few, "profile=quick", "training.epochs=0")
    text = mobench("run", "suite=compression", "problems=two-wells", *few, cwd=tmp_path)
    assert "hypervolume ↑" in text and "80 %" not in text


def test_results_of_a_plugin_can_be_read_without_it(folder):
    (folder / "with.yaml").write_text(SUITE.replace("methods: {", "methods: {thrower: {}, "))
    run = ("suite=with.yaml", "results=without", "methods=mgda", "seeds=1")
    assert "unknown method 'thrower'" in mobench("run", *run, "jobs=0", cwd=folder, code=2)
    mobench("run", *run, "jobs=0", "plugins=thrower.py", cwd=folder)
    registry._found["methods"].pop("thrower")
    assert "norms" in mobench("results", "suite=with.yaml", "results=without", "view=all", cwd=folder)
