"""Finished runs in the real TensorBoard and MLflow, and the log of JSON lines."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from mlflow import MlflowClient
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from mobench.cli import main
from mobench.store.folder import Store

ASKED = ["run", "problem=two-wells", "methods=mgda,ws", "training.steps=20", "seeds=1", "jobs=0", "--quiet"]


def test_runs_are_in_every_sink_once(tmp_path: Path) -> None:
    results, board, database = tmp_path / "results", tmp_path / "board", f"sqlite:///{tmp_path / 'runs.db'}"
    line = [*ASKED, f"results={results}", f"log={tmp_path / 'log.jsonl'}", f"tensorboard={board}"]
    assert main(line) == 0
    (folder,) = board.glob("*/*/ws@1-*")
    before = sorted(path.name for path in board.rglob("*"))
    assert main([*line, f"mlflow={database}"]) == 0  # what was stored before reaches a new sink
    assert main([*line, f"mlflow={database}"]) == 0
    assert sorted(path.name for path in board.rglob("*")) == before

    records = {record.spec.method: record for record in Store(results).records()}
    record = records["ws@1"]
    losses = [name for name in record.outcome.metrics if name.startswith("loss/")]
    seen = EventAccumulator(str(folder))
    seen.Reload()
    curve = [(point.step, point.value) for point in seen.Scalars(f"curves/losses/{losses[0].removeprefix('loss/')}")]
    kept = record.outcome.history
    expected = [(s, v[0]) for s, v in zip(kept["step"], kept["losses"], strict=True) if v is not None]
    assert [step for step, _ in curve] == [step for step, _ in expected]
    assert [value for _, value in curve] == pytest.approx([value for _, value in expected])
    assert "_hparams_/session_start_info" in seen.summary_metadata

    client = MlflowClient(tracking_uri=database)
    (experiment,) = [found for found in client.search_experiments() if found.name.startswith("mobench ")]
    runs = {run.data.tags["mobench.id"]: run for run in client.search_runs([experiment.experiment_id])}
    assert set(runs) == {found.id for found in records.values()} and len(runs) == 2
    run = runs[record.id]
    assert run.info.status == "FINISHED" and run.data.params["method"] == "ws@1"
    assert run.data.params["training.steps"] == "20"
    assert run.data.metrics[losses[0]] == pytest.approx(record.outcome.metrics[losses[0]])
    points = client.get_metric_history(run.info.run_id, f"curves/losses/{losses[0].removeprefix('loss/')}")
    assert sorted(point.step for point in points) == [step for step, _ in expected]

    client.set_terminated(run.info.run_id, "RUNNING")  # as a killed process leaves it
    assert main([*line, f"mlflow={database}"]) == 0
    again = {run.data.tags["mobench.id"]: run for run in client.search_runs([experiment.experiment_id])}
    assert set(again) == set(runs) and again[record.id].info.run_id != run.info.run_id

    told = [json.loads(text) for text in (tmp_path / "log.jsonl").read_text().splitlines()]
    events = [each["event"] for each in told]
    first = events[: events.index("end") + 1]
    assert first[0] == "begin" and first.count("done") == 2 and events.count("begin") == events.count("end") == 4
    assert first.count("started") >= 1 and first.count("done") == events.count("done")
    assert {each["run"] for each in told if each["event"] == "done"} == set(runs)


@pytest.mark.parametrize("key", ["tensorboard", "mlflow"])
def test_a_missing_extra_is_said_before_anything_runs(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, key, None)
    assert main([*ASKED, f"results={tmp_path / 'results'}", f"{key}={tmp_path / 'there'}"]) == 2
    assert f"pip install 'mobench[{key}]'" in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


def test_a_place_that_cannot_be_written_is_said_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    for key in ("log", "tensorboard"):
        assert main([*ASKED, f"results={tmp_path / 'results'}", f"{key}={tmp_path / 'file' / 'inside'}"]) == 2
        assert f"{key}={tmp_path / 'file' / 'inside'} cannot be written" in capsys.readouterr().err
    assert main([*ASKED, f"results={tmp_path / 'results'}", "mlflow=nonsense://x"]) == 2
    assert not (tmp_path / "results").exists()
