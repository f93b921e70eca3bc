"""What a first user of a GPU does: `pytest -m gpu tests`, ten minutes. The same tests run small on the CPU everywhere.

What needs the CUDA device is marked `gpu`, and skipped where there is none. No data set is needed: images are the
digits, or random ones of CIFAR's size.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mobench.core.resources import resources
from mobench.core.spec import RunSpec
from mobench.core.speed import speed_of
from mobench.running.probes import OnRandomData
from mobench.store.folder import Store
from mobench.store.record import RunRecord
from mobench.training.arithmetic import WORKSPACE
from mobench.training.checkpoint import load_checkpoint, save_checkpoint
from mobench.training.loop import Group, train
from tests.commands import plugins_forgotten
from tests.problems.compression.runs import few_steps, machine, mobench, spec, trained

os.environ.setdefault(*WORKSPACE)  # torch looks once, when a process first uses cuBLAS

RUNS = {
    "group lasso": spec("pcd", training=few_steps(5)),
    "nuclear norm": spec("pcd", training=few_steps(5), penalty="l1-nuclear"),
    "proximal, nuclear norm": spec("pcd", training=few_steps(5), penalty="l1-nuclear", prox=0.01),
    "bf16": spec("pcd", training=few_steps(5), precision="bf16"),
}
SAVED_AT = 3
BOTH = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def on_both(cases: Collection[Any], small: Collection[Any]) -> list[Any]:
    """Return every case on the CUDA device, and some of them on the CPU."""
    there = [pytest.param("cuda", case, marks=pytest.mark.gpu) for case in cases]
    return [*(pytest.param("cpu", case) for case in small), *there]


@pytest.mark.parametrize(("device", "name"), on_both(RUNS, ["nuclear norm"]))
def test_a_run_begins_as_on_the_cpu_and_is_evaluated(name: str, device: str) -> None:
    with machine(device="cpu"):
        expected = trained(RUNS[name])
    with machine(device=device):
        assert resources().torch_device == device
        found = trained(RUNS[name])
    tolerance = 2e-2 if name == "bf16" else 1e-3
    assert found.history["losses"][0] == pytest.approx(expected.history["losses"][0], rel=tolerance)
    assert found.metrics.keys() == expected.metrics.keys()
    assert {tensor.device.type for tensor in found.artifact.values()} <= {device, "cpu"}


@pytest.mark.gpu
def test_deterministic_algorithms_repeat_to_the_last_bit() -> None:
    with machine(device="cuda", deterministic=True):
        first, second = (trained(RUNS["group lasso"]) for _ in range(2))
    assert first.metrics == second.metrics and first.history == second.history


def saved(run: RunSpec, file: Path, device: str) -> None:
    """Take the first steps of a run on a device, and keep its state."""
    with machine(device=device, deterministic=True):
        group = Group([run])
        group.total = SAVED_AT
        group.run(None, 0.0)
        save_checkpoint(file, group.state_dict(), verify=True)


MOVES = [("cpu", "cpu"), ("cuda", "cuda"), ("cuda", "cpu"), ("cpu", "cuda")]


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        pytest.param(*move, name, marks=[pytest.mark.gpu] if "cuda" in move else [])
        for move in MOVES
        for name in (RUNS if "cuda" in move else ["proximal, nuclear norm"])
    ],
)
def test_a_checkpoint_goes_on_and_on_its_own_device_to_the_same_bits(
    before: str, after: str, name: str, tmp_path: Path
) -> None:
    run, file = RUNS[name], tmp_path / "state.pt"
    saved(run, file, before)
    assert load_checkpoint(file)["iteration"] == SAVED_AT
    with machine(device=after, deterministic=True):
        (resumed,) = train([run], file, 1e9)
        whole = trained(run)
    assert (resumed.status, resumed.timings["steps"]) == ("done", 5.0), resumed.error
    if before == after:
        assert resumed.metrics == whole.metrics
    else:
        assert np.isfinite([*resumed.metrics.values()]).all()


@dataclass(frozen=True)
class Network:
    """A network at the size of the paper's runs, or small."""

    name: str
    batch: int
    steps: int

    def run(self, method: str, **settings: Any) -> RunSpec:
        training = few_steps(self.steps, lr=1e-3)
        chosen = {"dataset": "cifar-10", "network": self.name, "batch_size": self.batch, **settings}
        return OnRandomData.like(spec(method, training=training, **chosen))


SMALL = {"resnet-34": "resnet-narrow", "mobilenet-v2": "cifar-cnn"}
"""What stands for a network on the CPU."""


def network_for(device: str, name: str) -> Network:
    """Return a network of the paper at batch 128 for a GPU, a small one at batch 2 for the CPU."""
    return Network(name, 128, 20) if device == "cuda" else Network(SMALL[name], 2, 2)


NETWORKS = [(name, precision) for name in SMALL for precision in ("float32", "bf16")]


@pytest.mark.parametrize(("device", "case"), on_both(NETWORKS, [("resnet-34", "bf16"), ("mobilenet-v2", "float32")]))
def test_the_networks_of_the_paper_are_trained_pruned_and_measured(device: str, case: tuple[str, str]) -> None:
    name, precision = case
    network = network_for(device, name)
    run = network.run("pcd", precision=precision)
    with machine(device="cpu"):
        begun = Group([run])
        begun.total = 1
        begun.run(None, 0.0)
    with machine(device=device):
        found = trained(run)
    tolerance = 2e-2 if precision == "bf16" else 2e-3
    first = begun.members[0].history.columns["losses"][0]
    assert found.history["losses"][0] == pytest.approx(first, rel=tolerance)
    assert np.isfinite(np.array(found.history["losses"], dtype=float)).all()
    kept = [found.metrics[f"reduction@{target}"] for target in (80, 90, 95, 99)]
    assert kept == sorted(kept) and min(kept) > 0.5
    assert found.timings["steps"] == network.steps and found.timings["latency_ms"] > 0.0


@pytest.mark.parametrize(("device", "name"), on_both(SMALL, ["resnet-34"]))
def test_a_nuclear_norm_of_a_large_network_is_resumed(device: str, name: str, tmp_path: Path) -> None:
    run = network_for(device, name).run("pcd", penalty="l1-nuclear", prox=1e-3)
    run = replace(run, training={**run.training, "steps": SAVED_AT + 1})
    saved(run, tmp_path / "state.pt", device)
    with machine(device=device, deterministic=True):
        group = Group([run])
        group.load_state_dict(load_checkpoint(tmp_path / "state.pt"))
        group.run(None, 0.0)
        whole = Group([run])
        whole.run(None, 0.0)
    pairs = zip(group.workload.parameters, whole.workload.parameters, strict=True)
    assert group.members[0].error is None and all(torch.equal(one, other) for one, other in pairs)


PLUGIN = '''
import os, time
from pathlib import Path

import torch

from mobench import Method, register
from mobench.core.resources import resources

FOLDER = Path(__file__).parent / "begun"


class Sum(Method):
    """The sum of the gradients."""

    def weights(self, step):
        return step.losses * 0 + 1


@register
class Pair(Sum):
    """Go on when a second process is there."""

    name = "pair"

    def weights(self, step):
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / str(os.getpid())).touch()
        while len(list(FOLDER.iterdir())) < 2:
            time.sleep(0.01)
        return super().weights(step)


@register
class Greedy(Sum):
    """Take more memory than any machine has."""

    name = "greedy"

    def weights(self, step):
        torch.empty(2**58, dtype=torch.uint8, device=resources().torch_device)
        return super().weights(step)


@register
class Beyond(Sum):
    """Read beyond the end of a tensor: a device-side assert on CUDA, which no other kernel of the process survives."""

    name = "beyond"

    def weights(self, step):
        there = resources().torch_device
        values = torch.zeros(4, device=there)[torch.full((2,), 9, device=there)]
        return super().weights(step) * values.sum().item()
'''


def run_suite(folder: Path, device: str, *words: str, code: int) -> dict[str, list[RunRecord]]:
    """Run methods of the plugin in worker processes, on digits or on small functions; return all records by method."""
    (folder / "faults.py").write_text(PLUGIN)
    places = (f"results={folder / 'out'}", f"plugins={folder / 'faults.py'}", f"device={device}", "--quiet")
    what = ("suite=compression", "profile=quick") if device == "cuda" else ("problem=two-wells",)
    with plugins_forgotten():
        mobench("run", *what, "training.steps=2", *places, *words, code=code)
    found: dict[str, list[RunRecord]] = {}
    for record in Store(folder / "out").records():
        found.setdefault(record.spec.method.partition("@")[0], []).append(record)
    return found


@pytest.mark.parametrize("device", BOTH)
def test_two_workers_share_a_gpu(device: str, tmp_path: Path) -> None:
    shared = ("gpus=0", "jobs_per_gpu=2") if device == "cuda" else ("jobs=2",)
    found = run_suite(tmp_path, device, "methods=pair", "seeds=2", *shared, code=0)
    assert len([*(tmp_path / "begun").iterdir()]) == 2, "none of the two goes on before the other has begun"
    assert [record.outcome.status for record in found["pair"]] == ["done", "done"]
    for record in found["pair"]:
        hardware = record.environment.hardware
        assert hardware["device"].startswith(device) and hardware.get("jobs_per_gpu", 2) == 2
        assert (record.memory is not None and record.memory.device_bytes is None) == (device == "cpu")


@pytest.mark.parametrize("device", BOTH)
def test_a_run_without_memory_fails_alone(device: str, tmp_path: Path) -> None:
    found = run_suite(tmp_path, device, "methods=greedy,mgda", "seeds=1", "jobs=1", code=1)
    (greedy,), (other,) = found["greedy"], found["mgda"]
    assert greedy.outcome.status == "failed" and "out of memory" in greedy.outcome.reason
    assert "also when it was tried again alone" in greedy.outcome.reason
    assert other.outcome.status == "done"


@pytest.mark.parametrize("device", BOTH)
def test_a_fault_of_the_device_costs_its_own_run_alone(device: str, tmp_path: Path) -> None:
    others = ("famo", "mgda", "pcgrad")
    found = run_suite(tmp_path, device, f"methods=beyond,{','.join(others)}", "seeds=1", "jobs=1", code=1)
    (beyond,) = found.pop("beyond")
    said = "device-side assert" if device == "cuda" else "out of bounds"
    assert beyond.outcome.status == "failed" and said in (beyond.outcome.error or "")
    assert {name: [record.outcome.status for record in records] for name, records in found.items()} == {
        name: ["done"] for name in others
    }


@pytest.mark.gpu
def test_the_doctor_passes_the_gpu() -> None:
    told = mobench("doctor", "profile=quick", "gpus=0")
    assert told.startswith("GPU ") and "FAILED" not in told
    names = ("driver", "torch", "device", "kernel", "convolution float32", "eigh", "tf32", "resume", "data", "steps")
    assert [line.split()[1] for line in told.splitlines() if line.startswith("  ok")] == [
        name.partition(" ")[0] for name in names
    ]


@pytest.mark.gpu
def test_the_speed_of_the_gpu_is_measured() -> None:
    with machine(device="cuda"):
        speed = speed_of("cuda")
    assert speed.measured and speed.convolution > 1e11
    assert torch.cuda.memory_allocated() < 1e9
