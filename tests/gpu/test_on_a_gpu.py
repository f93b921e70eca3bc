"""The real thing on a CUDA device: `pytest -m gpu`."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mobench.core.resources import resources
from mobench.core.speed import speed_of
from mobench.training.checkpoint import save_checkpoint
from mobench.training.loop import Group, train
from tests.problems.compression.runs import few_steps, machine, spec, trained

pytestmark = pytest.mark.gpu

RUNS = {
    "group lasso": spec("pcd", training=few_steps(5)),
    "nuclear norm": spec("pcd", training=few_steps(5), penalty="l1-nuclear"),
    "bf16": spec("pcd", training=few_steps(5), precision="bf16"),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_begins_as_on_the_cpu_and_is_evaluated(name: str) -> None:
    with machine(device="cpu"):
        expected = trained(RUNS[name])
    with machine(device="cuda"):
        assert resources().torch_device == "cuda"
        found = trained(RUNS[name])
    tolerance = 2e-2 if name == "bf16" else 1e-3
    assert found.history["losses"][0] == pytest.approx(expected.history["losses"][0], rel=tolerance)
    assert found.metrics.keys() == expected.metrics.keys()
    assert {tensor.device.type for tensor in found.artifact.values()} <= {"cuda", "cpu"}


def test_deterministic_algorithms_repeat_to_the_last_bit() -> None:
    with machine(device="cuda", deterministic=True):
        first, second = (trained(RUNS["group lasso"]) for _ in range(2))
    assert first.metrics == second.metrics and first.history == second.history


def test_a_checkpoint_of_the_gpu_goes_on_here_and_on_the_cpu(tmp_path: Path) -> None:
    run = RUNS["group lasso"]
    with machine(device="cuda"):
        group = Group([run])
        group.total = 3
        group.run(None, 0.0)
        save_checkpoint(tmp_path / "state.pt", group.state_dict())
    for device in ("cuda", "cpu"):
        with machine(device=device):
            (outcome,) = train([run], tmp_path / "state.pt", 1e9)
        assert (outcome.status, outcome.timings["steps"]) == ("done", 5.0)


def test_the_speed_of_the_gpu_is_measured() -> None:
    with machine(device="cuda"):
        speed = speed_of("cuda")
    assert speed.measured and speed.convolution > 1e11
    assert torch.cuda.memory_allocated() < 1e9
