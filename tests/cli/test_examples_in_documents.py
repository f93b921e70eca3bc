"""The methods and plots that the documents show to newcomers must work as they stand there."""

import re
from pathlib import Path

import pytest

from mobench.conformance import check_method, conforms
from mobench.core import registry
from mobench.planning.plan import make_plans
from mobench.reporting.plots import draw_plots
from mobench.training.loop import train
from tests.reporting.frames import results, run, table

ROOT = Path(__file__).parents[2]


def loaded(document, base, file):
    """Load the one class of a document that derives from `base`, and return its code."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(encoding="utf-8"), re.DOTALL)
    (shown,) = (block for block in blocks if base in block)
    file.write_text(shown)
    registry.load_plugins([file])
    return shown


@pytest.mark.parametrize(("document", "name"), [("README.md", "mine"), ("CONTRIBUTING.md", "unit-sum")])
def test_the_shown_method_conforms_and_runs(document, name, tmp_path, monkeypatch):
    registry.methods(), registry.problems()
    monkeypatch.setattr(registry, "_found", {kind: dict(getattr(registry, kind)()) for kind in registry.PACKAGES})
    assert len(loaded(document, "(Method)", tmp_path / f"{name.replace('-', '_')}.py").splitlines()) <= 20
    findings = check_method(registry.find_method(name))
    assert conforms(findings), [finding for finding in findings if finding.failed]
    (plan,) = make_plans(["plane"], "quick", {"methods": [name], "training.steps": 5})
    assert {outcome.status for outcome in train(plan.specs)} == {"done"}


def test_the_shown_plot_draws(tmp_path, monkeypatch):
    registry.plots()
    monkeypatch.setattr(registry, "_found", {kind: dict(getattr(registry, kind)()) for kind in registry.PACKAGES})
    loaded("CONTRIBUTING.md", "(Plot)", tmp_path / "ends.py")
    runs = table([run("pcd", seed, **{"loss/wells": 1.0 + seed, "loss/square": 1.0}) for seed in (0, 1)])
    (picture,) = draw_plots(["ends"], results(runs, registry.find_problem("two-wells")()))
    assert (picture.title, picture.frame["loss/wells"].tolist()) == ("Where runs end, a point for each run", [1.0, 2.0])
    assert "<!-- wells loss ← -->".encode() in picture.svg
