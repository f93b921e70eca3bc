"""The rooms of the engine, and the directions in which they may import each other."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The packages as an installation lays them out: one tree called mobench."""
    place = tmp_path_factory.mktemp("installed")
    for package, folder in sorted(PROJECT["tool"]["setuptools"]["package-dir"].items()):
        target = place / package.replace(".", "/")
        shutil.copytree(ROOT / folder, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", place)
    return place


def lint(place):
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", command, "--config", "pyproject.toml", "--no-cache"],
        cwd=place,
        env={"PYTHONPATH": str(place), "PATH": "", "NO_COLOR": "1", "COLUMNS": "120"},
        capture_output=True,
        text=True,
    )


def test_every_room_keeps_to_the_contracts(installed):
    done = lint(installed)
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("core/streams.py", "import mobench.training.loop"),
        ("leaderboard/site/build.py", "from mobench.reporting import terminal"),
        ("methods/ws.py", "from mobench.store.folder import Store"),
        ("scoring/budget.py", "from mobench.methods import pcd"),
    ],
)
def test_a_wrong_import_breaks_a_contract(installed, tmp_path, file, line):
    place = tmp_path / "broken"
    shutil.copytree(installed, place)
    with (place / "mobench" / file).open("a", encoding="utf-8") as source:
        source.write(f"\n{line}\n")
    done = lint(place)
    assert done.returncode == 1
    assert line.partition(" ")[2].partition(" ")[0] in done.stdout.partition("Broken contracts")[2]


def test_every_package_is_installed():
    """A folder with Python files that `packages` does not name would be missing from a wheel."""
    mapping = PROJECT["tool"]["setuptools"]["package-dir"]
    found = {
        ".".join((package, *path.parent.relative_to(ROOT / folder).parts))
        for package, folder in mapping.items()
        for path in (ROOT / folder).rglob("*.py")
    }
    assert found == set(PROJECT["tool"]["setuptools"]["packages"])


def test_the_picture_of_the_architecture_names_every_room():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = sorted(path.parent.name for path in (ROOT / "mobench").glob("*/__init__.py"))
    assert [room for room in rooms if f"| `{room}` |" not in text] == []
