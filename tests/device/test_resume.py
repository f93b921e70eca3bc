"""A run goes on from its checkpoint on any device: on the same one with the same bits, elsewhere from the same step."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from mobench.core.registry import methods
from mobench.core.spec import RunSpec
from mobench.gradients import buckets
from mobench.training.checkpoint import save_checkpoint
from mobench.training.loop import Group, _resumed
from tests.device.pretended_cuda import PretendedCuda
from tests.problems.compression.runs import few_steps, machine, spec

PENALTIES = {
    "group-lasso": {},
    "l1-nuclear": {},
    "quantisation": {},
    "distillation": {"teacher_epochs": 1},
}
ELSEWHERE = [("cuda", "cpu"), ("cpu", "cuda")]
TOGETHER, WHOLE = 2, 3
"""Steps before the checkpoint, and in all."""


def begun(run: RunSpec, device: str, steps: int) -> Group:
    with machine(device=device):
        group = Group([run])
        advance(group, steps)
    return group


def advance(group: Group, steps: int) -> None:
    group.total = steps
    group.run(None, 1e9)
    (member,) = group.members
    assert member.error is None, member.error


def gone_on(run: RunSpec, device: str, file: Path) -> Group:
    """Return the run after its last step, taken over from the checkpoint."""
    with machine(device=device), warnings.catch_warnings():
        warnings.simplefilter("error")
        group = _resumed(Group([run]), file)
        assert group.iteration == TOGETHER
        advance(group, WHOLE)
    return group


def weights(group: Group) -> list[torch.Tensor]:
    return [parameter.detach().cpu() for parameter in group.workload.network() or ()]


def optimizer_numbers(group: Group) -> float:
    """Return the sum of what the optimizer keeps for each parameter."""
    kept = [value for state in group.optimizer.state.values() for value in state.values()]
    return sum(value.abs().sum().item() for value in kept if isinstance(value, torch.Tensor) and value.numel() > 1)


def resume_everywhere(run: RunSpec, tmp_path: Path, places: Sequence[tuple[str, str]] = ELSEWHERE) -> None:
    """Save on each device, and go on there and elsewhere."""
    for saved_on in dict.fromkeys(first for first, _ in places):
        group, file = begun(run, saved_on, TOGETHER), tmp_path / f"{saved_on}.pt"
        save_checkpoint(file, group.state_dict(), verify=True)
        with machine(device=saved_on):
            advance(group, WHOLE)
        expected, numbers = weights(group), optimizer_numbers(group)
        again = gone_on(run, saved_on, file)
        assert all(map(torch.equal, weights(again), expected))
        assert again.members[0].history.columns == group.members[0].history.columns
        for _, device in (place for place in places if place[0] == saved_on):
            moved = gone_on(run, device, file)
            for ours, theirs in zip(weights(moved), expected, strict=True):
                torch.testing.assert_close(ours, theirs, rtol=0, atol=2e-3)
            assert optimizer_numbers(moved) == pytest.approx(numbers, rel=0.01) and numbers > 0.0


@pytest.mark.parametrize(
    ("penalty", "prox"), [*((penalty, 0.0) for penalty in PENALTIES), ("group-lasso", 0.1), ("l1-nuclear", 0.1)]
)
def test_every_penalty_goes_on_anywhere(penalty: str, prox: float, device: PretendedCuda, tmp_path: Path) -> None:
    resume_everywhere(
        spec("pcd", training=few_steps(WHOLE), penalty=penalty, prox=prox, batch_size=8, **PENALTIES[penalty]), tmp_path
    )


@pytest.mark.parametrize("optimizer", [{}, {"optimizer": "sgd", "momentum": 0.9}, {"optimizer": "nadam"}])
def test_parameters_by_themselves_go_on_as_one_vector_and_the_other_way_round(
    optimizer: dict[str, Any], device: PretendedCuda, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a network too large for one vector on a CPU; bf16 keeps it from stepping in lockstep."""
    monkeypatch.setattr(buckets, "ON_CPU", 100)
    resume_everywhere(spec("pcd", training=few_steps(WHOLE, **optimizer), batch_size=8, precision="bf16"), tmp_path)


@pytest.mark.parametrize("name", methods())
def test_every_method_goes_on_anywhere(name: str, device: PretendedCuda, tmp_path: Path) -> None:
    penalty = "group-lasso" if methods()[name].takes_proximal_steps else "l1-nuclear"
    resume_everywhere(spec(name, training=few_steps(WHOLE), penalty=penalty, batch_size=8), tmp_path)
