"""The comparison of real revisions: installs, worktrees, processes, exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path

import pytest

from benchmarks.compare.__main__ import main
from benchmarks.compare.revisions import Revision, installed
from tests.benchmarks.tracking.conftest import git


def compare(project: Path, *arguments: str) -> int:
    return main(["--repository", str(project), "--rounds", "3", "--confirm", "10", *arguments])


def test_a_slower_head_gives_1_and_is_named(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "comparison.json"
    assert compare(project, "fast", "slow", "--bench", r"work\(2\)", "--json", str(file)) == 1
    printed = capsys.readouterr().out
    assert "| + " in printed and "toy.Toy.time_work(2)" in printed and "time_work(1)" not in printed
    found = json.loads(file.read_text())
    assert found["base"] == git(project, "rev-parse", "fast") and found["head"] == git(project, "rev-parse", "slow")
    (row,) = found["benchmarks"]
    assert row["change"] == "slower" and len(row["base"]) == row["rounds"] == 10
    assert git(project, "worktree", "list").count("\n") == 0


@pytest.fixture(scope="module")
def revisions(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Revision]]:
    """All revisions of a clone, installed once; how they are installed and removed is seen by the other tests."""
    folder = tmp_path_factory.mktemp("revisions")
    git(folder, "clone", "--quiet", str(project), "clone")
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(installed(folder / "clone", name, folder / name))
            for name in ("fast", "slow", "failing")
        }


@pytest.fixture
def installed_once(revisions: dict[str, Revision], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "benchmarks.compare.__main__.installed", lambda repository, name, folder: nullcontext(revisions[name])
    )


@pytest.mark.usefixtures("installed_once")
def test_a_faster_head_gives_0(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(project, "slow", "fast", "--bench", r"work\(2\)") == 0
    assert "| - " in capsys.readouterr().out


@pytest.mark.usefixtures("installed_once")
def test_a_head_that_fails_gives_1_and_a_repaired_one_0(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(project, "fast", "failing", "--bench", "work") == 1
    assert capsys.readouterr().out.count("| ! ") == 2
    assert compare(project, "failing", "fast", "--bench", "work") == 0
    assert capsys.readouterr().out.count("| * ") == 2


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("nowhere", "fast"), "unknown revision 'nowhere'"),
        (("fast", "fast", "--bench", "answer"), "bench=answer matches none"),
    ],
)
def test_mistakes_give_2_and_leave_nothing(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], complaint: str
) -> None:
    assert compare(project, *arguments) == 2
    assert complaint in capsys.readouterr().err
    assert git(project, "worktree", "list").count("\n") == 0
