"""The guides for newcomers: every command in them is run as it is written, in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from mobench.training.optimizer import Training

DOCS = Path(__file__).parents[2] / "docs"


def blocks(document, language):
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / document).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("document", ["add-a-method.md", "add-a-problem.md", "write-a-suite.md"])
def test_every_command_of_a_guide_works(document, tmp_path):
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for block in blocks(document, "sh"):
        done = subprocess.run(
            ["bash", "-ec", block], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=1200
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
    if document == "add-a-method.md":
        page = (tmp_path / "site" / "suites" / "plane.quick.html").read_text(encoding="utf-8")
        assert "unit-sum" in page
        assert "unit-sum" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")


def test_the_training_of_a_guide_is_accepted():
    first, second = (yaml.safe_load(block) for block in blocks("write-a-suite.md", "yaml"))
    assert Training(**first["training"]).configuration()["optimizer.momentum_decay"] == 0.01
    assert second["methods"]["mgda"] == {"training.lr": [0.001, 0.01, 0.1]}
