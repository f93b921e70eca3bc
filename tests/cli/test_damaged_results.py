"""Every field of a record replaced by values of wrong types, and what is no record: no command is stopped by it."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mobench.cli import main
from mobench.core.spec import as_json
from mobench.store.record import sealed

WRONG: list[Any] = [None, True, -1, 1.5, 2**62, "x", [], {}, [[None]], {"a": 1}]
RUN = [
    "run",
    "suite=plane",
    "methods=ws,mgda",
    "problems.two-wells.start=lower",
    "training.steps=3",
    "jobs=0",
    "--quiet",
]
COMMANDS = [
    ["results", "suite=plane"],
    ["results", "format=csv", "out=all.csv"],
    ["results", "--failed"],
    ["show", "ws"],
    ["compare", "ws", "mgda"],
    ["status"],
    ["report", "suite=plane"],
    ["leaderboard", "build"],
    ["results", "verify"],
]


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where something stands in a JSON value, of lists only the beginning."""
    if place:
        yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*place, key))


def changed(record: dict[str, Any], place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    record = copy.deepcopy(record)
    inner: Any = record
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    if place[0] == "spec" and isinstance(record["spec"], dict):  # as if such a run had been planned
        text = json.dumps(as_json(record["spec"]), sort_keys=True, separators=(",", ":"))
        record["id"] = hashlib.sha256(text.encode()).hexdigest()
    return record


def test_no_command_is_stopped_by_a_damaged_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*RUN, "seeds=1"]) == 0
    record = json.loads(next(Path("results/runs").glob("*/*.json")).read_bytes())
    del record["checksum"]
    there = [place for place in places(record) if place[:2] != ("environment", "versions")]
    assert main([*RUN, f"seeds={len(there) + 8}"]) == 0
    files = sorted(Path("results/runs").glob("*/*.json"))
    manifest = next(Path("results/manifests").glob("*.json"))
    for number, (place, file) in enumerate(zip(there, files[8:], strict=False)):
        damaged = changed(json.loads(file.read_bytes()), place, WRONG[number % len(WRONG)])
        damaged.pop("checksum", None)
        file.unlink()
        id_ = damaged["id"] if place[0] == "spec" else file.stem
        file = Path("results/runs", id_[:2], f"{id_}.json")
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(sealed(damaged))
        manifest.write_text(manifest.read_text().replace(files[8 + number].stem, id_))
    for file, content in zip(files, [b"", b"{", files[0].read_bytes()[:300], b"[]", b"\xff\xfe"], strict=False):
        file.write_bytes(content)
    files[5].unlink()
    os.mkfifo(files[5])
    files[6].unlink()
    files[6].mkdir()
    files[7].unlink()
    files[7].symlink_to(files[7].name)
    for words in [*COMMANDS, *(["show", file.stem] for file in files[:8])]:
        shutil.rmtree("results/index", ignore_errors=True)
        capsys.readouterr()
        code = main(words)  # a traceback would come out here
        said = capsys.readouterr().err
        assert code in (0, 1, 2) and (code != 2 or said.splitlines()[-1].startswith("mobench: ")), (words, said)
    assert main(["results", "verify"]) == 1
    assert f"{files[5]} is not a whole run record: it is not a file" in capsys.readouterr().out
