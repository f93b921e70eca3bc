"""A run by a real worker process, what is kept of it, and `mobench export` of it in every form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from torch import nn

from mobench.core.outcome import Outcome
from mobench.core.registry import find_method, find_problem
from mobench.core.spec import RunSpec
from mobench.problems.compression import data, export
from mobench.problems.compression.evaluation import accuracy
from mobench.problems.compression.export_run import rebuilt
from mobench.running.executor import execute
from mobench.store.folder import Store
from mobench.store.record import RunRecord
from mobench.training.optimizer import Training
from tests.problems.compression.runs import mobench, spec, trained

TEST_IMAGES = data.load("digits").test


@dataclass(frozen=True)
class Finished:
    store: Store
    record: RunRecord

    def export(self, *settings: str, code: int = 0) -> str:
        return mobench("export", self.record.id[:10], f"results={self.store.root}", *settings, code=code)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finished]:
    store = Store(tmp_path_factory.mktemp("runs") / "results")
    run = spec(knobs={"tau": 0.2}, training={"epochs": 4})
    tally = execute([[run]], store, jobs=1)
    assert (tally.done, tally.failed) == (1, 0), tally.failures
    yield Finished(store, store.load(run.id))


def test_a_worker_records_metrics_costs_curves_and_weights(finished: Finished) -> None:
    outcome = finished.record.outcome
    assert outcome.metrics["accuracy"] > 90
    assert outcome.metrics["parameters"] == 24_058
    assert 0.9 <= outcome.metrics["reduction@90"] < 0.91
    assert outcome.metrics["parameters@90"] == round((1 - outcome.metrics["reduction@90"]) * 24_058)
    assert outcome.backward_passes == outcome.timings["steps"] == 4 * 33
    assert outcome.timings["latency_ms"] > 0 and outcome.timings["latency_ms@99"] > 0
    assert len([value for value in outcome.history["validation_accuracy"] if value is not None]) == 4
    assert finished.record.memory is not None
    assert not list((finished.store.root / "checkpoints").glob("*"))


def test_the_stored_weights_are_those_the_metrics_were_taken_from(finished: Finished) -> None:
    weights = finished.store.load_artifact(finished.record.id)
    model = rebuilt(finished.record.spec.build_problem(), weights)
    assert accuracy(model, TEST_IMAGES) == finished.record.outcome.metrics["accuracy"]


def test_a_worker_computes_the_bits_that_this_process_computes(finished: Finished) -> None:
    here = trained(finished.record.spec)
    assert here.metrics == finished.record.outcome.metrics
    stored = finished.store.load_artifact(finished.record.id)
    assert all(torch.equal(tensor, stored[name]) for name, tensor in here.artifact.items())


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".pt2", ".onnx"])
def test_export_in_every_form(finished: Finished, suffix: str, tmp_path: Path) -> None:
    if suffix == ".onnx":
        for package in export.ONNX_PACKAGES:
            pytest.importorskip(package)
    out = tmp_path / f"model{suffix}"
    told = finished.export("target=0.9", f"out={out}")
    metrics = finished.record.outcome.metrics
    assert f"{metrics['parameters@90']:,.0f} of 24,058" in told
    assert f"{out.stat().st_size:,} bytes" in told
    assert f"{metrics['accuracy@90']:.2f} %" in told
    assert list(tmp_path.iterdir()) == [out]


def test_an_exported_module_has_the_recorded_accuracy_and_size(finished: Finished, tmp_path: Path) -> None:
    metrics = finished.record.outcome.metrics
    for target, mark in (("0.8", "@80"), ("0.95", "@95")):
        finished.export(f"target={target}", f"out={tmp_path / 'model.pt'}")
        model = torch.load(tmp_path / "model.pt", weights_only=False)
        assert isinstance(model, nn.Module)
        assert sum(parameter.numel() for parameter in model.parameters()) == metrics[f"parameters{mark}"]
        assert accuracy(model, TEST_IMAGES) == metrics[f"accuracy{mark}"]


def test_without_a_target_the_whole_network_is_exported(finished: Finished, tmp_path: Path) -> None:
    told = finished.export(f"out={tmp_path / 'model.pth'}")
    assert "24,058 of 24,058 (0.00 % removed)" in told
    state = torch.load(tmp_path / "model.pth", weights_only=True)
    stored = finished.store.load_artifact(finished.record.id)
    assert state.keys() == stored.keys() and all(torch.equal(state[name], stored[name]) for name in stored)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["target=0.9999", "out=model.pt"], r"target=0.9999 cannot be reached: at most 0\.99\d\d of the 24,058"),
        (["target=1.2", "out=model.pt"], r"target=1.2 is not accepted; target takes a number in \(0, 1\)"),
        (["traget=0.9", "out=model.pt"], "unknown key 'traget'. Did you mean 'target'"),
        (["target=0.9", "out=model.onx"], r"'\.onx'. Did you mean '\.onnx'"),
        (["target=0.9", "out=nowhere/model.pt"], "the folder 'nowhere' does not exist"),
        (["target=0.9"], "out=FILE is missing"),
    ],
)
def test_mistakes_are_named_and_nothing_is_written(
    finished: Finished, settings: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert re.search(message, finished.export(*settings, code=2))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_the_way_is_named(finished: Finished, tmp_path: Path) -> None:
    (tmp_path / "model.pt").mkdir()
    told = finished.export("target=0.9", f"out={tmp_path / 'model.pt'}", code=2)
    assert f"out={tmp_path / 'model.pt'} cannot be written" in told
    assert list(tmp_path.rglob("*")) == [tmp_path / "model.pt"]


def test_a_failed_run_has_nothing_to_export(finished: Finished, tmp_path: Path) -> None:
    record = replace(finished.record, outcome=Outcome.failure("Traceback …\nNonFiniteError: loss 0 of 2 is nan", 1.0))
    Store(tmp_path / "results").save(record)
    told = mobench("export", record.id[:6], f"results={tmp_path / 'results'}", "out=model.pt", code=2)
    assert "failed and left nothing to export: NonFiniteError: loss 0 of 2 is nan" in told


def test_a_run_whose_weights_are_gone_says_so(finished: Finished, tmp_path: Path) -> None:
    Store(tmp_path / "results").save(finished.record)
    told = mobench("export", finished.record.id, f"results={tmp_path / 'results'}", "out=model.pt", code=2)
    assert "has no stored tensors" in told and ".pt is missing" in told


def test_weights_that_were_cut_off_are_refused(finished: Finished, tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    store.save(finished.record)
    whole = finished.store.artifact(finished.record.id).read_bytes()
    cut = store.artifact(finished.record.id)
    cut.parent.mkdir(parents=True)
    cut.write_bytes(whole[: len(whole) // 2])
    told = mobench("export", finished.record.id, f"results={store.root}", f"out={tmp_path / 'model.pt'}", code=2)
    assert f"{cut} cannot be read" in told
    assert not (tmp_path / "model.pt").exists()


def test_a_problem_without_anything_to_export_says_so(tmp_path: Path) -> None:
    run = RunSpec.of(find_problem("double-well@1")(), find_method("mgda")(), Training(steps=1).configuration(), 0)
    store = Store(tmp_path / "results")
    execute([[run]], store, jobs=0)
    store.save_artifact(run.id, {"theta": torch.zeros(2)})
    told = mobench("export", run.id, f"results={store.root}", "out=model.pt", code=2)
    assert "double-well@1 has nothing to export" in told
