"""The log of JSON lines: what `mobench run log=FILE` says of a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mobench.cli import main
from mobench.store.folder import Store

ASKED = ["run", "problem=two-wells", "methods=mgda,ws", "training.steps=20", "seeds=1", "jobs=1", "--quiet"]


def test_a_command_that_is_repeated_appends_and_every_run_is_done_once(tmp_path: Path) -> None:
    results, log = tmp_path / "results", tmp_path / "log.jsonl"
    for _ in range(2):
        assert main([*ASKED, f"results={results}", f"log={log}"]) == 0
    told = [json.loads(text) for text in log.read_text().splitlines()]
    events = [each["event"] for each in told]
    first, second = events[: events.index("end") + 1], events[events.index("end") + 1 :]
    assert first[0] == "begin" and first.count("started") >= 1 and first.count("done") == 2
    assert second == ["begin", "end"]
    assert [each["to_do"] for each in told if each["event"] == "begin"] == [2, 0]
    done = {each["run"] for each in told if each["event"] == "done"}
    assert done == {record.id for record in Store(results).records()} and len(done) == 2


def test_a_log_that_cannot_be_written_is_said_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main([*ASKED, f"results={tmp_path / 'results'}", f"log={tmp_path / 'file' / 'inside'}"]) == 2
    assert f"log={tmp_path / 'file' / 'inside'} cannot be written" in capsys.readouterr().err
    assert not (tmp_path / "results").exists()
