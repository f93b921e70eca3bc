"""A step in the way that a GPU takes it: how much it dispatches, how often the host waits, and what it computes."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch

from benchmarks.counting import count
from benchmarks.peers import operations
from benchmarks.peers.contestants import Subject, mobench
from mobench.core.device_path import forced_device_path
from mobench.problems.compression.nuclear import Nuclear
from mobench.problems.compression.penalties import proximal_step

counted = cache(operations.counted)


@pytest.mark.parametrize("network", ["resnet-34", "densenet-121"])
def test_two_objectives_cost_at_most_a_third_more_operations_than_a_plain_step_and_two_waits(network: str) -> None:
    plain, ours = (counted(network, 2, name) for name in ("plain", "mobench"))
    assert plain.by_name["convolution_backward"] == ours.by_name["convolution_backward"] > 30
    assert ours.operations <= 1.3 * plain.operations
    assert ours.launches <= 1.3 * plain.launches
    assert ours.synchronisations <= 2
    assert ours.by_name["dot"] <= 9, "three products for each of at most three buckets"


@pytest.mark.parametrize(("network", "most"), [("resnet-34", 1.6), ("densenet-121", 1.2)])
def test_a_nuclear_norm_takes_one_decomposition_for_each_short_side_and_no_other_wait(
    network: str, most: float
) -> None:
    weights = Subject(network, 2, 3).task.penalised
    sides = {min(len(weight), weight[0].numel()) for weight in weights}
    ours = counted(network, 3, "mobench")
    assert ours.by_name["_linalg_eigh"] == len(sides) <= 6 < len(weights)
    assert ours.synchronisations == 2 + len(sides)
    assert ours.operations <= most * counted(network, 2, "plain").operations


def test_a_proximal_step_shares_its_decomposition_with_the_step_that_follows() -> None:
    with forced_device_path():
        task = Subject("resnet-narrow", 2, 3).task
        (nuclear,) = [penalty for penalty in task.penalties if isinstance(penalty, Nuclear)]
        sides = {min(len(weight), weight[0].numel()) for weight in task.penalised}
        assert count(lambda: (proximal_step([nuclear], 0.1), nuclear.update())).by_name["_linalg_eigh"] == len(sides)


@pytest.mark.parametrize("k", [2, 3])
def test_the_way_of_a_device_takes_the_same_steps_as_that_of_a_cpu(k: int) -> None:
    def trained(steps: int) -> list[torch.Tensor]:
        subject = Subject("digits-cnn", 8, k)
        take = mobench(subject, k)
        for _ in range(steps):
            take()
        return [parameter.detach().clone() for parameter in subject.parameters]

    on_cpu = trained(3)
    with forced_device_path():
        on_device = trained(3)
    assert not any(torch.equal(trained, start) for trained, start in zip(on_cpu, trained(0), strict=True))
    for ours, theirs in zip(on_device, on_cpu, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-4)


def test_the_counter_sees_operations_launches_and_every_kind_of_wait() -> None:
    matrix = torch.eye(3)
    calls = {
        "one sum": (lambda: matrix.sum(), (1, 1, 0)),
        "a view": (lambda: matrix.t(), (1, 0, 0)),
        "item": (lambda: matrix[0, 0].item(), (3, 0, 1)),
        "tolist": (lambda: matrix.tolist(), (0, 0, 1)),
        "cpu": (lambda: matrix.cpu(), (0, 0, 1)),
        "a mask": (lambda: matrix[matrix > 0], (2, 2, 1)),
        "nonzero": (lambda: matrix.nonzero(), (1, 1, 1)),
        "a decomposition": (lambda: torch.linalg.eigh(matrix), (1, 1, 1)),
    }
    for name, (call, expected) in calls.items():
        found = count(call)
        assert (found.operations, found.launches, found.synchronisations) == expected, name


def test_the_counter_sees_the_backward_pass() -> None:
    weight = torch.ones(2, requires_grad=True)
    found = count(lambda: (weight * np.pi).sum().backward())
    assert found.by_name["mul"] == 2
