import os
import subprocess
import sys

import pytest

from mobench.submissions import parse_bundle
from tests.commands import plugins_forgotten, run_here

PLUGIN = '''"""Two methods of somebody's own; é and ‖g‖ are not ASCII."""

import numpy as np

from mobench import Method, real, register


@register
class UnitSum(Method):
    """d = Σ_i g_i / (‖g_i‖ + ε)."""

    name = "unit-sum"
    epsilon: float = real(1e-12, low=0.0, low_open=True, meaning="keeps a zero gradient finite")

    def weights(self, step):
        return 1.0 / (np.sqrt(step.gram.diagonal()) + self.epsilon)


@register
class Fragile(Method):
    """The sum of the gradients; fails where the primary loss is large."""

    strength: float = real(1.0, meaning="how long the step is")

    def weights(self, step):
        if step.losses[0] > 4.0:
            raise ValueError("too steep <script>alert(1)</script>")
        return np.full(step.k, self.strength)
'''


def run_mobench(*arguments, cwd, code=0):
    """Run the real program; return what it prints, on standard error for exit code 2."""
    done = subprocess.run(
        [sys.executable, "-m", "mobench", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr if code == 2 else done.stdout


@pytest.fixture(autouse=True)
def forget_plugins():
    with plugins_forgotten():
        yield


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Results of two plugin methods on two suites, and the bundle of them; made once, in this process."""
    path = tmp_path_factory.mktemp("submitter")
    (path / "mine.py").write_text(PLUGIN)
    common = ["plugins=mine.py", "results=out", "jobs=0", "--quiet"]
    sweep = ["methods=unit-sum,fragile", "methods.fragile.strength=[0.5,1.0]"]
    with plugins_forgotten():
        run_here("run", "suite=plane", *sweep, *common, cwd=path, code=1)
        run_here("run", "suite=scale-invariance", "profile=quick", "methods=pcd,unit-sum", *common, cwd=path)
        run_here("submit", "results=out", "by=Ada Lovelace", "plugins=mine.py", "out=mine.jsonl.gz", cwd=path)
    return path


@pytest.fixture(scope="session")
def content(folder):
    return folder.joinpath("mine.jsonl.gz").read_bytes()


@pytest.fixture(scope="session")
def bundle(content):
    return parse_bundle("mine.jsonl.gz", content)
