"""`mobench new`, `run problem=` and suites of installed packages, as a user meets them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mobench.cli import main


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capsys, *arguments):
    assert main(arguments) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["method"], ["NAME is missing"]),
        ([], ["method|problem|suite is missing"]),
        (["metod", "mine"], ["'metod'", "Did you mean 'method'?"]),
        (["method", "Mine"], ["'Mine'", "lower case"]),
        (["method", "../mine"], ["'../mine'"]),
        (["method", "pcd"], ["a method called 'pcd' already"]),
        (["problem", "two-wells"], ["a problem called 'two-wells' already"]),
        (["suite", "plane"], ["a suite called 'plane' already"]),
    ],
)
def test_mistakes_write_nothing(home, capsys, arguments, words):
    message = refused(capsys, "new", *arguments)
    assert all(word in message for word in words), message
    assert list(home.iterdir()) == []


def test_nothing_is_overwritten(home, capsys):
    (home / "test_mine.py").write_text("mine")
    assert "test_mine.py exists already" in refused(capsys, "new", "method", "mine")
    assert [path.name for path in home.iterdir()] == ["test_mine.py"]
    assert (home / "test_mine.py").read_text() == "mine"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["problem=two-wels"], ["'two-wels'", "two-wells@1"]),
        (["problem=two-wells", "suite=plane"], ["without a suite", "suite=plane"]),
        (["problem=two-wells", "profile=quick"], ["profile=quick"]),
        ([], ["suite=NAME is missing, or problem=NAME"]),
    ],
)
def test_mistakes_with_problems_alone(home, capsys, line, words):
    message = refused(capsys, "run", *line)
    assert all(word in message for word in words), message
    assert not (home / "results").exists()


def test_a_problem_alone_takes_its_own_training_and_all_methods(home, capsys):
    assert main(["run", "problem=two-wells", "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert "auxinash" in printed and "two-wells@1" in printed
    from mobench.planning.plan import make_plan
    from mobench.planning.problem_suite import suite_of_problem

    specs = make_plan(suite_of_problem("two-wells"), {"methods": ["pcd"]}).specs
    assert {(spec.training["lr"], spec.training["steps"], spec.seed) for spec in specs} == {
        (0.01, 3000, seed) for seed in (0, 1, 2)
    }


PACKAGE = {
    "pyproject.toml": """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "outside-of-mobench"
version = "1"
[project.entry-points."mobench.methods"]
outside = "outside.method:Outside"
[project.entry-points."mobench.problems"]
hill = "outside.problem:Hill"
[project.entry-points."mobench.suites"]
outside = "outside.suites"
broken = "outside.missing"
[tool.setuptools]
packages = ["outside", "outside.suites"]
[tool.setuptools.package-data]
"outside.suites" = ["*.yaml"]
""",
    "outside/__init__.py": "",
    "outside/suites/__init__.py": "",
    "outside/suites/outside-suite.yaml": """
problems: {hill@1: {}}
methods: {outside: {}, ws: {weight: 0.5}}
seeds: 2
training: {optimizer: sgd, lr: 0.1, steps: 4}
""",
    "outside/method.py": """
from mobench import Method
class Outside(Method):
    '''The plain sum.'''
    def weights(self, step):
        return [1.0] * step.k
""",
    "outside/problem.py": """
import torch
from mobench import Bounds, VectorProblem
class Hill(VectorProblem):
    '''Two bowls.'''
    id = "hill@1"
    def objectives(self):
        return ("a", "b")
    def hypervolume_bounds(self):
        return Bounds((0.0, 0.0), (9.0, 9.0))
    def constants(self, streams):
        return {}
    def initial(self, constants, streams):
        return torch.tensor([1.0], dtype=torch.float64)
    @staticmethod
    def values(theta, constants, iteration):
        return torch.cat([theta**2, (theta - 1) ** 2], dim=1)
    @staticmethod
    def gradients(theta, constants, iteration):
        return torch.stack([2 * theta, 2 * (theta - 1)], dim=1)
""",
}


def test_an_installed_package_brings_methods_problems_and_suites(home):
    for name, text in PACKAGE.items():
        path = home / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.lstrip())
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*install, "--target", "installed", "./source"], cwd=home, check=True, timeout=120)
    environment = {**os.environ, "PYTHONPATH": str(home / "installed")}
    mobench = str(Path(sys.executable).with_name("mobench"))

    def call(*arguments):
        return subprocess.run([mobench, *arguments], cwd=home, env=environment, capture_output=True, text=True)

    listed = call("list", "suites")
    assert "outside-suite" in listed.stdout
    assert "outside.missing" in listed.stderr
    done = call("run", "suite=outside-suite", "jobs=1", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "outside" in done.stdout and "4 runs" in done.stdout
