"""A small project named mobench with a history: each commit changes what its benchmark costs."""

from __future__ import annotations

import subprocess
import textwrap
from pathlib import Path

import pytest

PROJECT = """
    [build-system]
    requires = ["setuptools"]
    build-backend = "setuptools.build_meta"
    [project]
    name = "mobench"
    version = "0"
    [tool.setuptools]
    packages = ["mobench"]
"""
BENCHMARKS = """
    import mobench


    class Toy:
        params = ([1, 2],)
        timer = __import__("time").process_time

        def time_work(self, times):
            for _ in range(times):
                mobench.work()

        def track_answer(self, times):
            return 42
"""
WORK = """
    def work():
        return sum(range({size}))
"""
FAILING = """
    def work():
        raise ArithmeticError("no")
"""


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=test", "-c", "user.email=", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def commit(folder: Path, tag: str, work: str) -> None:
    (folder / "mobench" / "__init__.py").write_text(textwrap.dedent(work))
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", tag)
    git(folder, "tag", tag)


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tags: `fast`, `slow` (three times the work) and `failing`."""
    folder = tmp_path_factory.mktemp("project")
    git(folder, "init", "--quiet")
    (folder / "mobench").mkdir()
    (folder / "benchmarks" / "tracked").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(textwrap.dedent(PROJECT))
    (folder / "benchmarks" / "asv.conf.json").write_text(
        '{"version": 1, "project": "toy", "repo": "..", "benchmark_dir": "tracked"}'
    )
    (folder / "benchmarks" / "tracked" / "__init__.py").touch()
    (folder / "benchmarks" / "tracked" / "toy.py").write_text(textwrap.dedent(BENCHMARKS))
    commit(folder, "fast", WORK.format(size=1000))
    commit(folder, "slow", WORK.format(size=3000))
    commit(folder, "failing", FAILING)
    return folder
