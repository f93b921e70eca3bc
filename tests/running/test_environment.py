from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

from mobench.running import memory
from mobench.running.environment import environment, revision
from mobench.running.memory import MemoryMeter

MEGABYTE = 2**20


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (tmp_path / "readme.txt").write_text("text")
    for arguments in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first"],
    ):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    return package


def test_the_environment_names_what_a_result_may_depend_on() -> None:
    found = environment()
    assert found.versions["torch"] == torch.__version__.partition("+")[0]
    assert found.versions["numpy"] == np.__version__
    assert set(found.versions) == {"python", "mobench", "torch", "numpy", "scipy"}
    assert found.hardware["cores"] >= 1 and found.hardware["memory_bytes"] > MEGABYTE and found.hardware["cpu"]
    assert environment() is found


def test_the_revision_is_the_commit_and_whether_sources_differ(checkout: Path) -> None:
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=checkout, capture_output=True, text=True, check=True)
    assert revision(checkout) == {"commit": head.stdout.strip(), "dirty": False}
    (checkout.parent / "results.json").write_text("{}")
    assert revision(checkout) == {"commit": head.stdout.strip(), "dirty": False}
    (checkout.parent / "plugin.py").write_text("")
    assert revision(checkout) == {"commit": head.stdout.strip(), "dirty": True}


def test_a_copy_installed_inside_somebodys_repository_has_no_revision(checkout: Path) -> None:
    installed = checkout.parent / "env" / "package"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    assert revision(installed) is None


def test_without_git_there_is_no_revision(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert revision(checkout) is None


def test_a_variable_of_a_git_hook_does_not_mislead(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = revision(checkout)
    monkeypatch.setenv("GIT_DIR", str(checkout / "elsewhere"))
    assert before is not None and revision(checkout) == before


def allocate(megabytes: int) -> None:
    np.ones(megabytes * MEGABYTE, dtype=np.uint8).sum()


def test_the_peak_is_that_of_the_block_alone() -> None:
    with MemoryMeter() as first:
        allocate(200)
    with MemoryMeter() as second:
        allocate(20)
    large, small = first.peak(1), second.peak(3)
    assert large.resident_bytes - large.resident_before_bytes > 190 * MEGABYTE
    if small.scope == "training":
        assert small.resident_bytes - small.resident_before_bytes < 100 * MEGABYTE
    assert small.runs == 3 and small.device_bytes is None


def test_where_the_peak_cannot_be_reset_it_is_the_processs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_RESET", tmp_path / "missing" / "clear_refs")
    allocate(200)
    with MemoryMeter() as meter:
        pass
    peak = meter.peak(1)
    assert peak.scope == "process"
    assert peak.resident_bytes >= 200 * MEGABYTE
