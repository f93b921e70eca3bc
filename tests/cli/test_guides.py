"""The guides for newcomers: every command in them is run as a shell reads it, in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from mobench.training.optimizer import Training
from tests.commands import plugins_forgotten, run_here

DOCS = Path(__file__).parents[2] / "docs"


def blocks(document, language):
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / document).read_text(encoding="utf-8"), re.DOTALL)


def in_a_shell(line, folder):
    """Return what a line of the shell prints."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-ec", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def run(line, folder):
    """Run a line; what a shell hands to mobench is run here, where torch is loaded already and knows no plugin."""
    if not line.startswith("mobench "):
        in_a_shell(line, folder)
        return
    words = in_a_shell(f'mobench() {{ printf "%s\\0" "$@"; }}; {line}', folder).split("\0")[:-1]
    with plugins_forgotten():
        run_here(*words, cwd=folder)


@pytest.mark.parametrize("document", ["add-a-method.md", "add-a-problem.md", "write-a-suite.md"])
def test_every_command_of_a_guide_works(document, tmp_path):
    lines = [line for block in blocks(document, "sh") for line in block.splitlines()]
    assert len(lines) >= 5
    for line in lines:
        run(line, tmp_path)
    if document == "add-a-method.md":
        page = (tmp_path / "site" / "suites" / "plane.quick.html").read_text(encoding="utf-8")
        assert "unit-sum" in page
        assert "unit-sum" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")


def test_the_training_of_a_guide_is_accepted():
    first, second = (yaml.safe_load(block) for block in blocks("write-a-suite.md", "yaml"))
    assert Training(**first["training"]).configuration()["optimizer.momentum_decay"] == 0.01
    assert second["methods"]["mgda"] == {"training.lr": [0.001, 0.01, 0.1]}
