"""A working folder whose files have the names of modules: they are the user's, and nobody loads them by mistake."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mobench.core.module_path import VARIABLE, same_module_path

NAMES = ("statistics", "socket", "numpy", "torch", "mobench")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text(f"raise RuntimeError('the {name} of a user')\n")
    return tmp_path


def command(folder: Path, *arguments: str) -> str:
    line = [str(Path(sys.executable).with_name("mobench")), *arguments]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_runs_are_trained_beside_files_named_like_modules(folder: Path) -> None:
    assert "1 to do" in command(folder, "run", "problem=two-wells", "methods=pcd", "seeds=[0]", "training.steps=3")


DRAWS = """
from functools import partial
from mobench.reporting.pictures import beside

if __name__ == "__main__":
    with beside() as render:
        assert render(partial(tuple, "ab"))() == ("a", "b")
"""


def test_figures_are_drawn_beside_files_named_like_modules(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    script = tmp_path_factory.mktemp("elsewhere") / "draws.py"
    script.write_text(DRAWS)
    done = subprocess.run([sys.executable, str(script)], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_the_working_folder_is_left_out_only_where_it_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path not in ("", str(Path.cwd()))])
    with same_module_path():
        assert VARIABLE in os.environ
    assert VARIABLE not in os.environ
    monkeypatch.setattr(sys, "path", [str(Path.cwd()), *sys.path])
    with same_module_path():
        assert VARIABLE not in os.environ
    monkeypatch.setenv(VARIABLE, "1")
    with same_module_path():
        assert os.environ[VARIABLE] == "1"
    assert os.environ[VARIABLE] == "1", "what the user set stays"
