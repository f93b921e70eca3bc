"""The methods that the documents show to newcomers must work as they stand there."""

import re
from pathlib import Path

import pytest

from mobench.conformance import check_method, conforms
from mobench.core import registry
from mobench.planning.plan import make_plans
from mobench.training.loop import train

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("document", "name"), [("README.md", "mine"), ("CONTRIBUTING.md", "unit-sum")])
def test_the_shown_method_conforms_and_runs(document, name, tmp_path, monkeypatch):
    registry.methods(), registry.problems()
    monkeypatch.setattr(registry, "_found", {kind: dict(found) for kind, found in registry._found.items()})
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(encoding="utf-8"), re.DOTALL)
    (shown,) = (block for block in blocks if "@register" in block)
    file = tmp_path / f"{name.replace('-', '_')}.py"
    file.write_text(shown)
    assert len(shown.splitlines()) <= 20
    registry.load_plugins([file])
    findings = check_method(registry.find_method(name))
    assert conforms(findings), [finding for finding in findings if finding.failed]
    (plan,) = make_plans(["plane"], "quick", {"methods": [name], "training.steps": 5})
    assert {outcome.status for outcome in train(plan.specs)} == {"done"}
