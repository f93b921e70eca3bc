"""A method and a problem from outside, one file each: run by worker processes, and seen everywhere."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from mobench.cli import main
from mobench.leaderboard.site.names import file_stem
from tests.leaderboard.browser import browser, watched_page
from tests.leaderboard.figure import gradients_at, read_tables

__all__ = ["browser"]

METHOD = r'''
"""Unit gradients, tilted towards the primary."""

import numpy as np

from mobench import Formula, Look, Method, Reference, Step, real, register


@register
class Tilted(Method):
    """Add gradients of unit length, the primary's with more weight.

    Every gradient counts alike, however long it is. The tilt is the knob.

    With the tilt t,

        d = t g_1/‖g_1‖ + Σ_{j≥2} g_j/‖g_j‖.
    """

    name = "tilted-sum"
    title = "Tilted sum"
    formulas = (Formula(r"d = t\,\hat{g}_1 + \sum_{j \ge 2} \hat{g}_j", "The direction"),)
    reference = Reference("A. Nonymous", "On tilting", "Journal of Slopes", 2031, "https://example.org/tilt")
    look = Look("#123456", "#89ABCD", "*")

    tilt: float = real(2.0, low=1.0, high=4.0, meaning="weight of the primary")

    def weights(self, step: Step) -> np.ndarray:
        weights = 1.0 / (np.sqrt(step.gram.diagonal()) + 1e-12)
        weights[0] *= self.tilt
        return weights
'''

PROBLEM = r'''
"""Two bowls in the plane."""

import torch

from mobench import Bounds, Formula, Metric, VectorProblem, integer, register

CENTRE = torch.tensor([1.0, 0.0], dtype=torch.float64)


@register
class Bowls(VectorProblem):
    """Two quadratic bowls whose centres are one apart.

    The segment between the centres is Pareto-optimal.
    """

    id = "bowls@1"
    title = "Two bowls"
    formulas = (Formula(r"L_1 = \theta^\top \theta", "Left"), Formula(r"\left( no formula", "Broken"))
    reference = "A. Nonymous, lecture notes"

    side: int = integer(1, low=-1, high=1, meaning="on which side it starts")

    def objectives(self):
        return ("left", "right")

    def metrics(self):
        slope = Metric("slope", "slope at the end", "m", better="min", meaning="what is left to fall")
        return (*super().metrics(), slope)

    def hypervolume_bounds(self):
        return Bounds((0.0, 0.0), (5.0, 5.0))

    def constants(self, streams):
        return {}

    def initial(self, constants, streams):
        return torch.tensor([0.5, float(self.side)], dtype=torch.float64)

    @staticmethod
    def values(theta, constants, iteration):
        return torch.stack([(theta**2).sum(-1), ((theta - CENTRE) ** 2).sum(-1)], dim=1)

    @staticmethod
    def gradients(theta, constants, iteration):
        return torch.stack([2 * theta, 2 * (theta - CENTRE)], dim=1)

    def measure(self, theta, constants):
        return {"slope": float(abs(theta[1]))}
'''

SUITE = """
title: Bowls
problems: {bowls@1: {side: [1, -1]}}
methods: {tilted-sum: {tilt: [1.0, 3.0]}, ws: {weight: 0.5}, mgda: {}}
seeds: [0, 1]
training: {optimizer: sgd, lr: 0.05, steps: 20}
metrics: [slope]
tables: [{title: Slopes, value: slope, columns: problem.side}]
plots: [aim]
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one file for each, the results of two worker processes, and the site."""
    folder = tmp_path_factory.mktemp("outside")
    for name, text in (("plugins/tilted.py", METHOD), ("plugins/bowls.py", PROBLEM), ("bowls.yaml", SUITE)):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.lstrip(), encoding="utf-8")
    printed(folder, "run", "suite=bowls.yaml", "jobs=2", "--quiet")
    printed(folder, "leaderboard", "build")
    return folder


def printed(home: Path, *arguments: str) -> str:
    """Return what a command prints; the files from outside are loaded by a process that it starts."""
    out = io.StringIO()
    with contextlib.chdir(home), contextlib.redirect_stdout(out):
        assert main([*arguments, "plugins=plugins"]) == 0
    return out.getvalue()


def read(home: Path, page: str) -> str:
    return (home / "site" / page).read_text(encoding="utf-8")


def test_it_is_listed_with_its_settings_and_reference(home: Path) -> None:
    for kind, id_, reference in (
        ("methods", "tilted-sum", "A. Nonymous (2031). On tilting. Journal of Slopes."),
        ("problems", "bowls@1", "A. Nonymous, lecture notes"),
    ):
        listed = json.loads(printed(home, "list", kind, "--json"))
        (entry,) = [entry for entry in listed if entry["id"] == id_]
        assert entry["reference"] == reference and len(entry["settings"]) == 1
        assert id_ in printed(home, "list", kind)


def test_it_stands_in_the_tables(home: Path) -> None:
    tables = printed(home, "results", "suite=bowls.yaml")
    assert "Tilted sum" in tables and "bowls" in tables
    page = read(home, "suites/bowls.standard.html")
    table = page[page.index('id="results-bowls-standard"') :]
    assert '<a href="../methods/tilted-sum.html">tilted-sum</a>' in table
    assert "slope at the end" in table
    assert "tilted-sum" in read(home, "index.html") and "bowls@1" in read(home, "index.html")


def test_a_method_s_page_is_made_from_its_file(home: Path) -> None:
    page = read(home, "methods/tilted-sum.html")
    assert "<h1>Tilted sum (tilted-sum)</h1>" in page
    assert "<p>Every gradient counts alike, however long it is. The tilt is the knob.</p>" in page
    assert "<figcaption>The direction</figcaption>" in page and "<math" in page
    assert '<a href="https://example.org/tilt" rel="noreferrer">A. Nonymous (2031). On tilting.' in page
    assert '<th scope="row"><code>tilt</code></th><td>2.0</td><td class="text">a number in [1, 4]</td>' in page
    assert "All properties required of a method hold." in page
    assert page.count("d = t g_1/‖g_1‖") == 1, "the docstring's formula is in the details"


def test_a_problem_s_page_is_made_from_its_file(home: Path) -> None:
    page = read(home, f"problems/{file_stem('bowls@1')}.html")
    assert "<h1>Two bowls (bowls@1)</h1>" in page
    assert "<p>The segment between the centres is Pareto-optimal.</p>" in page
    assert "<math" in page and r"<code>\left( no formula</code>" in page, "a broken formula is shown as it is"
    assert "A. Nonymous, lecture notes" in page and "on which side it starts" in page
    assert "slope at the end (m)" in page and "what is left to fall" in page


def test_its_look_is_that_of_all_plots_and_pages(home: Path) -> None:
    assert ".mark-tilted-sum { --method: light-dark(#123456, #89ABCD); }" in read(home, "assets/methods.css")
    for page in ("index.html", "suites/bowls.standard.html", "directions.html"):
        assert 'class="marker mark-tilted-sum"' in read(home, page), page
    plots = home / "site" / "plots" / "bowls.standard"
    light, dark = ((plots / f"aim{theme}.svg").read_text(encoding="utf-8") for theme in ("", ".dark"))
    assert "#123456" in light and "#89abcd" in dark and "#123456" not in dark


def test_it_appears_in_the_interactive_figure(home: Path, browser: Browser) -> None:
    content = read_tables(home / "site" / "data" / "directions" / "tilted-sum.js")
    assert content["values"] == ["1.0", "2.0", "2.5", "3.25", "4.0"]
    first, second = gradients_at(24, 1)
    direction = 2.0 * first + second / np.linalg.norm(second)
    with watched_page(browser) as page:
        page.goto((home / "site" / "directions.html").as_uri())
        row = page.locator('tr[data-row="tilted-sum"]')
        expect(row.locator("label")).to_have_text("Tilted sum")
        assert float(row.locator("td").nth(2).inner_text()) == pytest.approx(np.linalg.norm(direction), rel=5e-3)
        row.get_by_role("checkbox").check()  # the figure begins with few arrows
        assert page.locator('[data-arrow="tilted-sum"]').count() == 1
        page.get_by_label("Tilted sum: tilt, weight of the primary").fill("0")
        assert float(row.locator("td").nth(0).inner_text()) == 1.0


def test_the_downloads_explain_its_columns(home: Path) -> None:
    schema = {column["name"]: column for column in json.loads(read(home, "data/schema.json"))}
    assert schema["method.tilt"]["meaning"] == "weight of the primary"
    assert schema["problem.side"]["meaning"] == "on which side it starts"
    assert schema["slope"]["type"] == "number"
    assert schema["slope"]["meaning"] == "what is left to fall"
    assert re.search(r"tilted-sum.*bowls@1|bowls@1.*tilted-sum", read(home, "data/results.csv"))
