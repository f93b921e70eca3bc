"""The tensors of a stored state in another arrangement: the same numbers, each at its parameter."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from mobench.gradients.joint_parameters import join
from mobench.training.rearranged import can_be_cut, rearranged, rearranged_optimizer


def network() -> nn.Module:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Conv2d(3, 2, 3), nn.Flatten(), nn.Linear(8, 2))
    return model.to(memory_format=torch.channels_last)


def apart(parameters: list[Tensor]) -> list[Tensor]:
    return parameters


def as_vector(parameters: list[Tensor]) -> list[Tensor]:
    vector = join(parameters)
    assert vector is not None
    return [vector.requires_grad_()]


def as_padded_row(parameters: list[Tensor]) -> list[Tensor]:
    (vector,) = as_vector(parameters)
    return [nn.functional.pad(vector.detach(), (0, 7))[None].requires_grad_()]


ARRANGEMENTS = [apart, as_vector, as_padded_row]
Arrange = Callable[[list[Tensor]], list[Tensor]]


@pytest.mark.parametrize("into", ARRANGEMENTS)
@pytest.mark.parametrize("of", ARRANGEMENTS)
def test_every_arrangement_can_be_read_as_every_other(of: Arrange, into: Arrange) -> None:
    parameters, others = list(network().parameters()), list(network().parameters())
    stored, targets = [tensor.detach().clone() for tensor in of(parameters)], into(others)
    with torch.no_grad():
        for target in targets:
            target.zero_()
        assert can_be_cut(stored, others)
        found = rearranged(stored, others, targets)
        for target, each in zip(targets, found, strict=True):
            target.copy_(each)
    if into is not as_padded_row:
        assert all(map(torch.equal, others, parameters))
    again = rearranged([target.detach() for target in targets], others, others)
    assert all(map(torch.equal, again, parameters))


def test_moments_go_to_their_parameters_and_a_parameter_without_a_gradient_has_zeros() -> None:
    parameters = list(network().parameters())
    optimizer = torch.optim.Adam(parameters, lr=0.5)
    for number, parameter in enumerate(parameters):
        parameter.grad = None if number == 0 else torch.full_like(parameter, float(number))
    optimizer.step()
    others = list(network().parameters())
    (vector,) = as_vector(others)
    current = torch.optim.Adam([vector], lr=0.1).state_dict()
    state = rearranged_optimizer(optimizer.state_dict(), parameters, others, current, [vector])
    assert state["param_groups"] == current["param_groups"] and state["state"][0]["step"] == 1
    means = rearranged([state["state"][0]["exp_avg"]], others, others)
    for number, mean in enumerate(means):
        torch.testing.assert_close(mean, torch.full_like(mean, 0.1 * number))


@pytest.mark.parametrize("sizes", [(3,), (3, 4), (400,)])
def test_tensors_of_another_network_cannot_be_cut(sizes: tuple[int, ...]) -> None:
    assert not can_be_cut([torch.zeros(size) for size in sizes], list(network().parameters()))
