from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.training.data_parallel_worker import METHODS, WRAPPED, all_trained, joined, train


def test_two_processes_take_the_steps_of_one_on_the_whole_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    store, result = tmp_path / "store", tmp_path / "other.pt"
    script = Path(__file__).with_name("data_parallel_worker.py")
    other = subprocess.Popen([sys.executable, str(script), str(store), str(result)], env=dict(os.environ))
    try:
        with joined(store, rank=0):
            mine = all_trained(rank=0)
        assert other.wait(timeout=60) == 0
    finally:
        other.kill()
        other.wait()
    theirs = torch.load(result, weights_only=True)
    for method in METHODS:
        alone = train(method, rank=0, world=1)
        for name in (f"{method} {wrapped}" for wrapped in WRAPPED):
            for first, second, expected in zip(mine[name], theirs[name], alone, strict=True):
                assert torch.equal(first, second), "the processes stay identical"
                torch.testing.assert_close(first, expected, rtol=1e-10, atol=1e-12)
