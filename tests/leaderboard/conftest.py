"""A real site for all tests of this folder: small runs of real suites, and one suite whose every name is hostile."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

from tests.leaderboard.figure import write_figure

HOSTILE_METHOD = "<img src=x onerror=alert(1)>"
HOSTILE_PROBLEM = '"><script>alert(2)</script>@1'
HOSTILE_ERROR = "</script><script>alert(3)</script> javascript:alert(4) ${alert(5)}"

SUBMITTER = "Ada <b>Lovelace</b>"
MINE = '''
from mobench import Method, register


@register
class Mine(Method):
    """Descend the sum. <script>alert("source")</script>"""

    reference = "Ada & <b>Charles</b>, 1843"

    def weights(self, step):
        return [1.0] * step.k
'''

PLUGIN = f'''
"""Names and errors that try to break out of a page."""
import torch
from mobench import Method, register
from mobench.core.problem import Bounds, VectorProblem


@register
class Hostile(Method):
    """<script>alert("docstring")</script>"""

    name = {HOSTILE_METHOD!r}
    reference = "javascript:alert(6)"

    def weights(self, step):
        raise RuntimeError({HOSTILE_ERROR!r})


@register
class Trap(VectorProblem):
    """<b>bold</b> & <img src=x onerror=alert(7)>"""

    id = {HOSTILE_PROBLEM!r}

    def objectives(self):
        return ("<i>first</i>", "second")

    def hypervolume_bounds(self):
        return Bounds((0.0, 0.0), (9.0, 9.0))

    def constants(self, streams):
        return {{}}

    def initial(self, constants, streams):
        return torch.tensor([1.0, 2.0], dtype=torch.float64)

    @staticmethod
    def values(theta, constants, iteration):
        return torch.stack([(theta**2).sum(-1), ((theta - 1.0) ** 2).sum(-1)], dim=1)

    @staticmethod
    def gradients(theta, constants, iteration):
        return torch.stack([2 * theta, 2 * (theta - 1.0)], dim=1)
'''

SUITE = f"""
title: "<script>alert('title')</script>"
about: "</p><img src=x onerror=alert(8)>"
problems: {{'{HOSTILE_PROBLEM}': {{}}}}
methods: {{ws: {{weight: [0.2, 0.8]}}, mgda: {{}}, '{HOSTILE_METHOD}': {{}}}}
seeds: [0, 1]
training: {{optimizer: sgd, lr: 0.1, steps: 3}}
metrics: ["loss/<i>first</i>"]
plots: [aim]
"""


@dataclass(frozen=True)
class RealSite:
    """A built site, and what it was built from."""

    results: Path
    folder: Path
    plugin: Path

    def address(self, page: str) -> str:
        return (self.folder / page).as_uri()


def mobench(*arguments: str, cwd: Path, code: int | None = 0) -> subprocess.CompletedProcess[str]:
    """Run the command line as a process of its own."""
    command = [sys.executable, "-m", "mobench", *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, env=environment)
    assert code is None or done.returncode == code, done.stdout + done.stderr
    return done


def several(commands: list[tuple[int, tuple[str, ...]]], cwd: Path) -> None:
    """Run commands with their exit codes one after the other in one new process, which imports everything once."""
    script = "from mobench.cli import main\n" + "".join(
        f"assert main({list(arguments)!r}) == {code}\n" for code, arguments in commands
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=cwd, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def figure(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the interactive figure alone."""
    return write_figure(tmp_path_factory.mktemp("figure"))


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> RealSite:
    """Build the site once, also when several workers run the tests."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    root = shared / "leaderboard-site"
    with FileLock(shared / "leaderboard-site.lock"):
        if not (root / "done").exists():
            _make(root)
            (root / "done").touch()
    return RealSite(root / "results", root / "site", root / "hostile.py")


def _make(root: Path) -> None:
    root.mkdir()
    (root / "hostile.py").write_text(PLUGIN, encoding="utf-8")
    (root / "hostile.yaml").write_text(SUITE, encoding="utf-8")
    (root / "mine.py").write_text(MINE, encoding="utf-8")
    (root / "bundles").mkdir()
    quick, theirs = ("profile=quick", "jobs=0", "--quiet"), ("results=theirs", "plugins=mine.py")
    several(
        [
            (0, ("run", "suite=plane,escape", "methods=pcd,ws,mgda", *quick)),
            (0, ("run", "suite=compression", "methods=pcd,ws", *quick)),
            (1, ("run", "suite=hostile.yaml", "plugins=hostile.py", "jobs=0", "--quiet")),
            (0, ("run", "suite=plane", "methods=mine", *theirs, *quick)),
            (0, ("submit", f"by={SUBMITTER}", "out=bundles/mine.jsonl.gz", "source=yes", *theirs)),
        ],
        cwd=root,
    )
    (root / "mine.py").rename(root / "bundles" / "mine.py")
    (root / "bundles" / "broken.jsonl.gz").write_bytes(b"no bundle")
    done = mobench("leaderboard", "build", "plugins=hostile.py", "submissions=bundles", cwd=root)
    (root / "build.log").write_text(done.stdout, encoding="utf-8")
