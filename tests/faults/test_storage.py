"""A disk that is full, cannot be written, or goes away: one line, exit code 2, nothing half-written."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from mobench.cli import main
from mobench.store.folder import Store
from tests.faults.processes import PATIENCE, leftovers, living, marked, mobench, wait_until

SUITE = """
title: Tiny
problems: {double-well@1: {k: 3, dimension: 10}}
methods: {mgda: {}, ws: {}}
training: {optimizer: sgd, lr: 0.01, steps: 20}
metrics: [primary_gradient_norm]
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 400 kB."""
    (tmp_path / "tiny.yaml").write_text(SUITE)
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("this user may not mount a disk")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def run(disk: Path, *words: str) -> int:
    return main(["run", f"suite={disk.parent / 'tiny.yaml'}", f"results={disk / 'out'}", "--quiet", *words])


@pytest.mark.parametrize("jobs", ["jobs=0", "jobs=1"])
def test_a_full_disk_stops_the_suite(disk: Path, jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(disk, jobs, "seeds=2") == 0
    whole = {path: path.read_bytes() for path in (disk / "out" / "runs").rglob("*.json")}
    assert len(whole) == 4
    capsys.readouterr()
    assert run(disk, jobs, "seeds=100") == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "No space left on device" in said and "the same command does the rest" in said
    records = list(Store(disk / "out").records())  # raises for what is not whole
    assert 4 <= len(records) < 200 and all(record.outcome.status == "done" for record in records)
    assert {path: path.read_bytes() for path in whole} == whole
    assert not [path for path in (disk / "out").rglob("*") if path.name.endswith((".tmp", ".part"))]


def test_a_disk_that_cannot_be_written_is_named(disk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    assert run(disk, "jobs=0") == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "Read-only file system" in said and str(disk) in said
    assert list(disk.iterdir()) == []


@pytest.mark.parametrize("format_", ["csv", "json", "parquet", "table"])
def test_a_table_that_does_not_fit_on_the_disk_leaves_the_one_before(
    disk: Path, format_: str, capsys: pytest.CaptureFixture[str]
) -> None:
    root, out = disk.parent / "out", disk / "all"
    assert main(["run", f"suite={disk.parent / 'tiny.yaml'}", f"results={root}", "--quiet", "jobs=0"]) == 0
    words = ["results", f"results={root}", f"format={format_}"]
    assert main([*words, f"out={out}"]) == 0
    whole = out.read_bytes()
    assert whole
    capsys.readouterr()
    with suppress(OSError), (disk / "fill").open("wb", buffering=0) as fill:
        while True:
            fill.write(bytes(1024))
    assert main([*words, f"out={out}"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and f"out={out} cannot be written" in said and "No space left on device" in said
    assert out.read_bytes() == whole and {path.name for path in disk.iterdir()} == {"all", "fill"}


def test_an_output_that_is_full_is_one_line(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        process = mobench("list", "methods", cwd=tmp_path, env=marked(tmp_path), stdout=full, stderr=subprocess.PIPE)
        said = process.communicate(timeout=PATIENCE)[1].decode()
    assert (process.returncode, said) == (2, "mobench: the output: No space left on device\n")


@pytest.mark.parametrize("part", ["", "leases"])
def test_a_folder_that_is_deleted_under_way_stops_the_suite(tmp_path: Path, part: str) -> None:
    (tmp_path / "long.yaml").write_text(SUITE.replace("steps: 20", "steps: 10_000_000"))
    root = tmp_path / "results"
    words = ("run", "suite=long.yaml", "jobs=1", "checkpoint_seconds=1", "--quiet")
    process = mobench(*words, cwd=tmp_path, env=marked(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: any(root.glob("checkpoints/*.pt")) or process.poll() is not None)
    while (root / part).exists():  # the worker may write while this deletes
        shutil.rmtree(root / part, ignore_errors=True)
    said = process.communicate(timeout=PATIENCE)[1].decode()
    assert process.returncode == 2 and said.count("\n") == 1 and f"{root} was deleted under way" in said, said
    assert part or not root.exists()
    wait_until(lambda: not living(tmp_path))
    assert leftovers(tmp_path) == [] and not list(tmp_path.rglob("*.part"))
