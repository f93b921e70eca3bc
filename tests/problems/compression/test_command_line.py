"""Mistakes in data and settings are found before anything runs, and a killed run goes on where it was."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mobench.errors import UserError
from mobench.problems.compression.data.cifar import ARCHIVES
from mobench.store.folder import Store
from mobench.training.checkpoint import load_checkpoint
from mobench.training.loop import Group
from tests.problems.compression.runs import machine, mobench, spec, trained, write_suite

PATIENCE = 120.0


REFUSED = {
    "problems.compression.network=resnet34": "compression.network: 'resnet34'. Did you mean 'resnet-34'?",
    "problems.compression.dataset=cifar10": "compression.dataset: 'cifar10'. Did you mean 'cifar-10'?",
    "problems.compression.network=resnet-narrow": (
        "takes images of 3×32×32; those of dataset=digits are 1×8×8. Networks for them: digits-cnn"
    ),
    "problems.compression.batch_size=1078": "batch_size takes a whole number from 1 up to 1077",
    "problems.compression.scale=0": "compression.scale=0 is not accepted",
    "methods.pcd.tau=1.5": "pcd.tau=1.5 is not accepted; pcd.tau takes a number in [0, 1]",
}


@pytest.mark.parametrize("setting", REFUSED)
def test_a_setting_that_cannot_be_is_refused_before_anything_is_written(setting: str, tmp_path: Path) -> None:
    suite = write_suite(tmp_path)
    told = mobench("run", f"suite={suite}", setting, f"results={tmp_path / 'results'}", "jobs=0", code=2)
    assert REFUSED[setting] in told
    assert not (tmp_path / "results").exists()


def cifar_files(root: Path) -> list[Path]:
    """Write files with the names of CIFAR-10's and the wrong content."""
    archive = ARCHIVES["cifar-10"]
    files = [root / archive.folder / file.name for file in (*archive.train, *archive.test)]
    files[0].parent.mkdir(parents=True)
    for file in files:
        file.write_bytes(b"not an image")
    return files


def test_corrupt_data_is_named_before_any_run_and_left_as_it_is(tmp_path: Path) -> None:
    files = cifar_files(tmp_path / "data")
    suite = write_suite(tmp_path, dataset="cifar-10", network="resnet-narrow", scale=[1.0, 2.0])
    settings = [f"suite={suite}", f"data.root={tmp_path / 'data'}", f"results={tmp_path / 'results'}", "jobs=1"]
    told = mobench("run", *settings, code=2)
    assert f"{files[0]} is corrupt: its md5 checksum is" in told
    assert not (tmp_path / "results").exists()
    assert {file.read_bytes() for file in files} == {b"not an image"}


def test_missing_data_says_how_to_get_it(tmp_path: Path) -> None:
    suite = write_suite(tmp_path, dataset="cifar-100", network="resnet-narrow")
    settings = [f"suite={suite}", f"data.root={tmp_path / 'data'}", f"results={tmp_path / 'results'}"]
    told = mobench("run", *settings, "data.download=false", code=2)
    assert "CIFAR100 is not complete" in told and "data.download=true" in told
    assert not (tmp_path / "results").exists()


def test_data_is_prepared_once_for_a_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mobench.problems.compression import preparation

    read: list[str] = []
    load = preparation.data.load

    def counted(name: str, *rest: Any, **more: Any) -> Any:
        read.append(name)
        return load(name, *rest, **more)

    monkeypatch.setattr(preparation.data, "load", counted)
    preparation._training_images.cache_clear()
    with machine():
        for scale in (1.0, 2.0, 3.0):
            spec(scale=scale).build_problem().prepare()
    assert read == ["digits"]
    with pytest.raises(UserError, match="batch_size=2000"):
        spec(batch_size=2000).build_problem().prepare()


def test_a_run_killed_in_the_middle_goes_on_to_the_same_metrics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = spec(training={"epochs": 3})
    store = Store(tmp_path / "results")
    command = [
        "run",
        f"suite={write_suite(tmp_path)}",
        f"results={store.root}",
        "jobs=0",
        "checkpoint_seconds=0",
        "--quiet",
    ]
    process = subprocess.Popen([sys.executable, "-m", "mobench", *command])
    try:
        deadline = time.monotonic() + PATIENCE
        while not store.checkpoint(run.id).exists():
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.002)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not store.has(run.id)
    done = load_checkpoint(store.checkpoint(run.id))["iteration"]
    assert 0 < done < 99

    whole = trained(run)
    taken: list[int] = []
    step = Group.step

    def counted(group: Group, *rest: Any) -> None:
        taken.append(group.iteration)
        step(group, *rest)

    monkeypatch.setattr(Group, "step", counted)
    mobench(*command)
    assert taken == list(range(done, 99)), "only what was missing is computed"
    resumed = store.load(run.id).outcome
    assert resumed.metrics == whole.metrics
    assert resumed.history["losses"] == whole.history["losses"]
    assert resumed.timings["steps"] == 99
    assert not store.checkpoint(run.id).exists()
