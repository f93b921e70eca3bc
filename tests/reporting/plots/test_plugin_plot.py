"""A plot and a problem from outside, each in one file: found, labelled and reported like ours."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd
import pytest

from mobench.cli import main
from mobench.core.registry import find_problem, load_plugins, plots
from mobench.reporting.plots import draw_plots
from tests.reporting.frames import results, run, table

HILL = '''
"""A hill to climb."""
import torch
from mobench import Metric, VectorProblem, real, register


@register
class Hill(VectorProblem):
    """Two slopes of one hill."""

    id = "hill@1"
    steepness: float = real(1.0, low=0.0, meaning="steepness of the slope")

    def objectives(self):
        return ("left", "right")

    def constants(self, streams):
        return {"steepness": torch.tensor([self.steepness], dtype=torch.float64)}

    def initial(self, constants, streams):
        return torch.from_numpy(streams.numpy("init").standard_normal(2))

    @staticmethod
    def values(theta, constants, iteration):
        return constants["steepness"] * theta**2

    @staticmethod
    def gradients(theta, constants, iteration):
        return 2.0 * constants["steepness"][:, :, None] * torch.diag_embed(theta)

    def metrics(self):
        return *super().metrics(), Metric("height", "height reached", "m", "max", meaning="height above the sea")

    def measure(self, theta, constants):
        return {"height": 100.0 - float((theta**2).sum())}
'''

ENDS = '''
"""Where runs end."""
from matplotlib.figure import Figure
from mobench import Plot, register


@register
class Ends(Plot):
    """Where runs end.

    This line is no part of the title.
    """

    name = "run-ends"

    def data(self, results, *, value="height", setting="problem.steepness"):
        if not results.has(setting):
            return results.table.iloc[:0]
        return results.done[["contender", setting, value]].set_axis(["contender", "x", value], axis=1)

    def draw(self, frame, metrics):
        figure = Figure()
        axis = figure.subplots()
        axis.plot(frame["x"], frame.iloc[:, 2], "o")
        axis.set(xlabel=metrics["problem.steepness"].meaning, ylabel=metrics[frame.columns[2]].axis)
        return figure
'''

SUITE = """
title: Hills
problems: {hill@1: {steepness: [0.5, 1.0]}}
methods: {mgda: {}, pcd: {}}
seeds: [0]
training: {optimizer: sgd, lr: 0.1, steps: 5}
plots: [run-ends, {plot: run-ends, value: loss/left, where: {method: pcd}}]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("outside")
    for name, text in (("hill.py", HILL), ("ends.py", ENDS), ("hills.yaml", SUITE)):
        (place / name).write_text(text)
    assert main(["run", *settings(place), "jobs=0", "--quiet"]) == 0
    return place


def settings(folder, suite="hills.yaml"):
    return [f"suite={folder / suite}", f"results={folder / 'results'}", f"plugins={folder}"]


def test_it_is_drawn_for_any_results(folder):
    load_plugins([folder / "ends.py", folder / "hill.py"])
    assert (plots()["run-ends"].title(), list(plots()["run-ends"].options())) == (
        "Where runs end",
        ["value", "setting"],
    )
    runs = table([run("pcd", seed, height=seed + 0.5, **{"problem.steepness": 2.0}) for seed in (0, 1)])
    (picture,) = draw_plots(["run-ends"], results(runs, find_problem("hill")()))
    assert (picture.name, picture.title, picture.frame["height"].tolist()) == ("run-ends", "Where runs end", [0.5, 1.5])
    assert picture.png.startswith(b"\x89PNG")
    assert "<!-- height reached (m) → -->".encode() in picture.svg


def test_a_report_shows_it_with_the_words_of_the_problem(folder):
    assert main(["report", *settings(folder), f"out={folder / 'report'}"]) == 0
    report = folder / "report"
    assert "## Where runs end" in (report / "report.md").read_text()
    first, second = ((report / f"{name}.svg").read_bytes() for name in ("run-ends", "run-ends_2"))
    for text in ("steepness of the slope", "height reached (m) →"):
        assert f"<!-- {text} -->".encode() in first
    assert "<!-- left loss ← -->".encode() in second
    assert len(pd.read_csv(report / "run-ends.csv")) == 4
    assert pd.read_csv(report / "run-ends_2.csv")["contender"].tolist() == ["pcd", "pcd"]


def test_its_options_are_checked_like_ours(folder, capsys):
    (folder / "wrong").mkdir()
    (folder / "wrong" / "hills.yaml").write_text(SUITE.replace("value: loss/left", "vale: loss/left"))
    assert main(["report", *settings(folder, "wrong/hills.yaml"), f"out={folder / 'nothing'}"]) == 2
    assert "Did you mean 'value'?" in capsys.readouterr().err
    assert not (folder / "nothing").exists()


def test_nothing_draws_before_a_figure_is_asked_for():
    code = """
import sys
from mobench.cli import main
main(["list", "methods"])
assert "mobench.reporting" not in sys.modules
from mobench.core.registry import plots
assert "knob" in plots()
assert not {"matplotlib", "seaborn"} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
