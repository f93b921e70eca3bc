"""Checkpoints: whole or not there, as they were when they are read again, and never the end of a run."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mobench import Method
from mobench.core import registry
from mobench.core.registry import find_method, find_problem
from mobench.core.spec import RunSpec
from mobench.errors import MethodError, StorageError
from mobench.training.checkpoint import DamagedCheckpointError, load_checkpoint, save_checkpoint
from mobench.training.loop import train
from mobench.training.optimizer import Training
from mobench.training.stopping import Stopped, request_stop


class Keeper(Method):
    """Remembers something that no checkpoint can hold: a set."""

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self.seen: object = {1, object}

    def weights(self, step: Any) -> Any:
        return np.ones(step.k)


class Forgetter(Method):
    """Cannot read its own state."""

    def weights(self, step: Any) -> Any:
        return np.ones(step.k)

    def load_state_dict(self, state: Any) -> None:
        raise LookupError("what was it?")


def run(method: str = "mgda") -> RunSpec:
    training = Training(optimizer="adam", lr=0.05, steps=20).configuration()
    return RunSpec.of(find_problem("double-well")(k=3, dimension=10), find_method(method)(), training, 0)


@pytest.fixture(autouse=True)
def own_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    methods = {**registry.methods(), "keeper": Keeper, "forgetter": Forgetter}
    monkeypatch.setattr(registry, "_found", {"methods": methods, "problems": dict(registry.problems())})


def stopped(spec: RunSpec, file: Path) -> None:
    """Leave the checkpoint of a run after its first step."""
    request_stop()
    try:
        with pytest.raises(Stopped):
            train([spec], file)
    finally:
        request_stop(False)


def foreign(content: bytes) -> bytes:
    """Return a file with a fitting checksum that the safe loader refuses."""
    payload = b"\x80\x02c__builtin__\nprint\n." + content[:5]
    return hashlib.sha256(payload).digest() + payload


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "truncated": lambda content: content[: len(content) // 2],
    "one bit": lambda content: content[:500] + bytes([content[500] ^ 1]) + content[501:],
    "no checksum": lambda content: content[32:],
    "something else": foreign,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_lets_the_run_start_anew(damage: str, tmp_path: Path) -> None:
    file, spec = tmp_path / "run.pt", run()
    stopped(spec, file)
    assert load_checkpoint(file)["iteration"] == 1
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    with pytest.warns(RuntimeWarning, match="training starts anew"):
        outcome = train([spec], file)[0]
    expected = train([spec])[0]
    assert (outcome.status, outcome.metrics, outcome.history) == ("done", expected.metrics, expected.history)


def test_a_method_that_cannot_read_its_state_starts_anew(tmp_path: Path) -> None:
    file, spec = tmp_path / "run.pt", run("forgetter")
    stopped(spec, file)
    with pytest.warns(RuntimeWarning, match="what was it"):
        assert train([spec], file)[0].metrics == train([spec])[0].metrics


def test_a_state_that_cannot_be_read_again_is_found_when_it_is_first_saved(tmp_path: Path) -> None:
    file = tmp_path / "run.pt"
    with pytest.raises(MethodError, match="the state of this run cannot be kept in a checkpoint"):
        train([run("keeper")], file, checkpoint_seconds=0.0)
    assert list(tmp_path.iterdir()) == []
    assert train([run("keeper")], file, checkpoint_seconds=1e9)[0].status == "done"


def test_it_is_on_the_disk_before_it_takes_the_place_of_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, synced = tmp_path / "run.pt", []

    def sync(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_ino, os.fstat(descriptor).st_size, file.exists()))

    monkeypatch.setattr(os, "fsync", sync)
    save_checkpoint(file, {"value": 1})
    assert synced == [(file.stat().st_ino, file.stat().st_size, False)]


def test_a_full_disk_leaves_the_one_before_and_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "run.pt"
    save_checkpoint(file, {"value": 1})

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left on device"):
        save_checkpoint(file, {"value": 2})
    assert list(tmp_path.iterdir()) == [file] and load_checkpoint(file) == {"value": 1}


STATE = {
    "array": np.arange(6.0).reshape(2, 3).T,
    "backwards": np.arange(3)[::-1],
    "number in an array": np.array(0.5, dtype=np.float32),
    "single": np.float32(0.1),
    "double": np.float64(0.1),
    "whole": np.int64(3),
    "flag": np.bool_(True),
    "plain": 0.1,
    "large": 2**100,
    "nothing": np.zeros((0, 3)),
}


@pytest.mark.parametrize("name", STATE)
def test_a_value_comes_back_as_it_was(name: str, tmp_path: Path) -> None:
    value: Any = STATE[name]
    save_checkpoint(tmp_path / "run.pt", {"value": [value]}, verify=True)
    (found,) = load_checkpoint(tmp_path / "run.pt")["value"]
    assert type(found) is type(value) and np.array_equal(found, value)
    assert np.shape(found) == np.shape(value) and getattr(found, "dtype", None) == getattr(value, "dtype", None)


def test_no_code_in_a_checkpoint_is_run(tmp_path: Path) -> None:
    file = tmp_path / "run.pt"
    torch.save({"value": print}, file)
    file.write_bytes(hashlib.sha256(file.read_bytes()).digest() + file.read_bytes())
    with pytest.raises(Exception, match=r"[Ww]eights.only"):
        load_checkpoint(file)
    file.write_bytes(b"x" * 100)
    with pytest.raises(DamagedCheckpointError):
        load_checkpoint(file)
