"""A real history of speed: a small repository of three commits, measured and published by asv."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

BENCHMARKS = """
class Layer:
    params = (["<b>bold</b>", "plain"], [1, 2])
    param_names = ("text", "k")

    def time_sum(self, text, k):
        sum(range(1000 * k))

    def track_count(self, text, k):
        return COUNT * k

    track_count.unit = "things"


def peakmem_list():
    return [0] * 100_000


def track_fails():
    raise RuntimeError("always")
"""
CONFIG = {
    "version": 1,
    "project": "small",
    "repo": ".",
    "branches": ["HEAD"],
    "environment_type": "existing",
    "benchmark_dir": "layers",
    "results_dir": "results",
    "html_dir": "html",
    "launch_method": "forkserver",
}
COMMITS = 3


def record_history(root: Path) -> Path:
    """Return the folder that `asv publish` wrote."""
    (root / "layers").mkdir(parents=True)
    (root / "layers" / "__init__.py").touch()
    (root / "asv.conf.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    _run(root, "git", "init", "--quiet")
    _asv(root, "machine", "--yes")
    for number in range(1, COMMITS + 1):
        (root / "layers" / "first.py").write_text(f"COUNT = {10 * number}\n{BENCHMARKS}", encoding="utf-8")
        _run(root, "git", "add", "layers", "asv.conf.json")
        _run(root, "git", "-c", "user.name=a", "-c", "user.email=", "commit", "--quiet", "-m", f"Commit {number}")
        commit = _run(root, "git", "rev-parse", "HEAD").strip()
        _asv(root, "run", "--quick", "-E", "existing:same", "--set-commit-hash", commit)
    _asv(root, "publish")
    return root / "html"


def _asv(root: Path, *arguments: str) -> str:
    return _run(root, sys.executable, "-m", "asv", *arguments)


def _run(root: Path, *command: str) -> str:
    environment = {**os.environ, "HOME": str(root)}
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120, env=environment)
    assert not done.returncode or "run" in command, done.stdout + done.stderr  # 2 says that a benchmark failed
    return done.stdout
