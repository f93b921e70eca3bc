"""Commands that read results survive whatever a plugin or an installed package does while it is loaded."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from mobench.cli import guarded_command, main
from mobench.cli.command import commands
from mobench.core import registry

SLEEP = "987654"
COMMANDS = {
    "list": ["methods"],
    "results": [],
    "report": ["suite=plane"],
    "compare": ["pcd", "mgda"],
    "export": ["3f2a", "out=model.pt"],
    "leaderboard build": [],
}
METHOD = """
from mobench import Method, register

@register
class Mine(Method):
    def weights(self, step):
        return [1.0] * step.k
"""

BREAKS = """
class Fatal(type):
    def __str__(cls):
        import os
        os._exit(9)

Mine.reference = Fatal("Reference", (), {})
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "results").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of an installed package that announces a method."""
    place = tmp_path / "site"
    about = place / "others_methods-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: others-methods\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[mobench.methods]\nmine = others_methods:Mine\n")
    monkeypatch.setenv("PYTHONPATH", str(place))
    monkeypatch.syspath_prepend(str(place))
    yield place / "others_methods.py"
    sys.modules.pop("others_methods", None)


def test_every_command_that_loads_plugins_is_tried_here() -> None:
    assert {name for name, command in commands().items() if command.loads == "plugins"} == set(COMMANDS)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise LookupError('no such thing')", "the file fails on import: LookupError: no such thing"),
        ("import sys; sys.exit(0)", "the file fails on import: SystemExit: 0"),
        ("import os; os._exit(0)", "importing it: the worker process ended with exit code 0"),
        ("import ctypes; ctypes.string_at(0)", "importing it: the worker process was killed by SIGSEGV"),
        ("import time; time.sleep(600)", "importing it took longer than 2 s and was stopped"),
        (
            f"import os, subprocess; subprocess.Popen(['sleep', '{SLEEP}'], start_new_session=True); os._exit(3)",
            "importing it: the worker process ended with exit code 3",
        ),
    ],
)
def test_a_command_says_which_file_did_what(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], code: str, words: str
) -> None:
    monkeypatch.setattr(guarded_command, "PATIENCE_SECONDS", 2.0)
    (folder / "mine.py").write_text(code)
    assert main(["list", "methods", "plugins=mine.py"]) == 2
    said = capsys.readouterr().err
    assert said == f"mobench: plugins={folder / 'mine.py'}: {said.partition('.py: ')[2]}" and words in said
    assert not [one for one in psutil.process_iter(["cmdline"]) if SLEEP in (one.info["cmdline"] or ())]


def test_every_command_survives(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text("import os; os._exit(7)")
    for name, words in COMMANDS.items():
        assert main([*name.split(), *words, "plugins=mine.py"]) == 2, name
        assert f"plugins={folder / 'mine.py'}: importing it" in capsys.readouterr().err, name


def test_a_plugin_that_breaks_later_costs_the_command_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text(METHOD + BREAKS)
    assert main(["list", "methods", "plugins=mine.py"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("mobench: mobench list with plugins=mine.py: the worker process ended with exit code 9")


def test_what_is_printed_is_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text(f"print('loaded')\n{METHOD}")
    assert main(["list", "methods", "pcd"]) == 0
    alone = capsys.readouterr().out
    assert main(["list", "methods", "pcd", "plugins=mine.py"]) == 0
    assert capsys.readouterr().out == alone
    assert main(["list", "methods", "mine", "plugins=mine.py"]) == 0
    assert capsys.readouterr().out.startswith("mine")
    assert "mine" not in registry.methods(), "it was loaded in this process"


@pytest.mark.parametrize(
    "words", [["show", "3fa9"], ["new", "method", "fresh"], ["submit", "by=Ada", "out=a.jsonl.gz"]]
)
def test_installed_packages_are_loaded_elsewhere_too(
    folder: Path, package: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    package.write_text("import os; os._exit(4)")
    assert main(words) == 2
    assert "loading installed packages: the worker process ended with exit code 4" in capsys.readouterr().err
    package.write_text("import sys; sys.exit(0)")
    code, said = main(words), capsys.readouterr().err
    # A package that cannot be loaded costs only its own methods.
    assert (code, said) == (0, "") if words[0] == "new" else code == 2 and "loading" not in said
