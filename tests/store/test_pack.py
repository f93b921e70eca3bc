"""A finished suite as one file: read by everything, back without a changed byte, whole at every instant."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from mobench.cli import main
from mobench.store.folder import Store
from mobench.store.integrity import verify
from mobench.store.packing import pack

SUITE = ["suite=plane", "profile=quick"]
KILLED = """
import os, sys
from pathlib import Path
from mobench.cli import main
calls, limit = 0, int(sys.argv[1])
def count(event, arguments):
    global calls
    created = event == "open" and arguments[2] & os.O_CREAT
    if created or event in ("os.rename", "os.link", "os.remove", "sqlite3.connect"):
        calls += 1
        if calls > limit:
            os._exit(9)
sys.addaudithook(count)
sys.exit(main(sys.argv[2:]))
"""


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted((root / "runs").rglob("*.json"))}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("finished")
    assert main(["run", *SUITE, f"results={root}", "jobs=0", "--quiet", "training.steps=5"]) == 0
    return root


@pytest.fixture
def root(finished: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "results"
    subprocess.run(["cp", "-r", str(finished), str(copy)], check=True)
    return copy


def test_packed_suites_are_read_not_repeated_and_come_back_unchanged(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(root)
    for command in (["results", f"results={root}"], ["results", f"results={root}", "view=runs", "format=csv"]):
        capsys.readouterr()
        assert main(command) == 0
        loose = capsys.readouterr().out
        assert main(["results", "pack", "plane", f"results={root}"]) == 0
        capsys.readouterr()
        assert files(root) == {}
        assert main(command) == 0
        assert capsys.readouterr().out == loose
        (root / "index").rename(root / "away")  # also without the index, and without one that knows the pack
        assert main(command) == 0
        assert capsys.readouterr().out == loose
        subprocess.run(["rm", "-r", str(root / "away")], check=True)
        if command[-1] == "format=csv":
            break
        assert main(["results", "unpack", "plane", f"results={root}"]) == 0
        assert files(root) == before and not list((root / "packs").iterdir())
    assert main(["run", *SUITE, f"results={root}", "jobs=0", "--quiet", "training.steps=5"]) == 0
    assert f"{len(before)} runs: {len(before)} stored, 0 to do" in capsys.readouterr().out
    id_ = Path(next(iter(before))).stem
    assert main(["show", id_[:12], f"results={root}"]) == 0
    assert files(root) == {} and verify(Store(root), set_aside=False).whole == len(before)
    assert main(["results", "unpack", "plane", f"results={root}"]) == 0
    assert files(root) == before


def test_reports_and_status_of_a_packed_suite_are_those_of_its_files(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(place: str) -> tuple[str, dict[str, bytes]]:
        capsys.readouterr()
        assert main(["status", f"results={root}", "format=json"]) == 0
        said = capsys.readouterr().out
        assert main(["report", "suite=plane", f"results={root}", f"out={root / place}"]) == 0
        written = sorted((root / place).rglob("*"))
        return said, {str(file.relative_to(root / place)): file.read_bytes() for file in written if file.is_file()}

    loose = told("loose")
    assert main(["results", "pack", "plane", f"results={root}"]) == 0
    assert files(root) == {}
    said, written = told("packed")
    assert said == loose[0] and json.loads(said)["done"] == len(Store(root).manifests()[0].runs)
    assert written == loose[1] and any(name.endswith(".svg") for name in written)


def test_a_repeated_run_counts_more_than_the_packed_one_and_is_packed_next_time(root: Path) -> None:
    store = Store(root)
    (manifest,) = store.manifests()
    pack(store, manifest)
    record = store.load(manifest.runs[0])
    newer = type(record)(record.spec, record.outcome, None, record.environment, record.started, record.started)
    assert store.save_once(newer, None)
    assert Store(root).load(record.id).finished == record.started
    pack(store, manifest)
    assert files(root) == {} and Store(root).load(record.id).finished == record.started


@pytest.mark.parametrize("direction", ["pack", "unpack"])
def test_killed_at_any_instant_nothing_is_lost(root: Path, direction: str) -> None:
    before = files(root)
    if direction == "unpack":
        assert main(["results", "pack", "plane", f"results={root}"]) == 0
    line = ["results", direction, "plane", f"results={root}"]
    last = 3 * len(before) + 8
    for limit in (0, 1, 2, 3, last // 3, last // 2, last - 9):
        done = subprocess.run([sys.executable, "-c", KILLED, str(limit), *line], capture_output=True, check=False)
        assert done.returncode == 9 or limit > len(before)
        store = Store(root)
        assert {id_: store.whole_bytes(id_) for id_ in store.manifests()[0].runs} == {
            Path(name).stem: content for name, content in before.items()
        }
    main(line)
    assert files(root) == (before if direction == "unpack" else {})
    main(["results", "unpack", "plane", f"results={root}"])
    assert files(root) == before


def test_a_damaged_pack_is_named_and_its_runs_are_done_again(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(root)
    (manifest,) = store.manifests()
    packed = pack(store, manifest)
    with sqlite3.connect(packed.file) as database:
        database.execute(
            "UPDATE records SET content = content || x'00', sha256 = x'00' WHERE id = ?", manifest.runs[:1]
        )
    assert main(["results", "verify", f"results={root}"]) == 1
    told = capsys.readouterr().out
    assert f"packed: {packed.file}: run {manifest.runs[0][:12]}" in told and "to repeat: 1 of" in told
    assert main(["run", *SUITE, f"results={root}", "jobs=0", "--quiet", "training.steps=5"]) == 0
    assert len(files(root)) == 1 and verify(Store(root), set_aside=False).whole == len(manifest.runs)
    packed.file.write_bytes(b"SQLite format 3\x00" + os.urandom(5000))
    assert main(["results", f"results={root}"]) == 2
    assert "is not a whole pack" in capsys.readouterr().err


def test_what_is_unfinished_is_not_packed(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(root)
    (manifest,) = store.manifests()
    store.path(manifest.runs[0]).unlink()
    assert main(["results", "pack", "plane", f"results={root}"]) == 2
    assert f"is not finished: 1 of {len(manifest.runs)} runs" in capsys.readouterr().err
    assert main(["results", "unpack", "plane", f"results={root}"]) == 2
    assert main(["results", "pack", f"results={root}"]) == 2
    assert main(["results", "pack", "plan", f"results={root}"]) == 2
    assert "Did you mean 'plane'" in capsys.readouterr().err
