"""Masked and removed networks are the same function, for every architecture."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn

from mobench.problems.compression.pruning import Planner, PruningPlan, mask, remove, trace
from mobench.problems.compression.pruning.surgery import removed_positions
from tests.problems.compression.pruning.prepared import NAMES, count, draw_parameters, plan_of, prepared, pruned


@torch.no_grad()
def outputs(model: nn.Module, images: Tensor) -> Tensor:
    result: Tensor = model.eval()(images)
    return result


@pytest.mark.parametrize("name", NAMES)
def test_masked_and_removed_networks_agree_to_1e_6(name: str) -> None:
    subject = prepared(name)
    masked = outputs(mask(subject.model, subject.structure, plan_of(name)), subject.images)
    removed = outputs(pruned(name), subject.images)
    assert (masked - removed).abs().max() <= 1e-6 * max(1.0, masked.abs().max().item())
    assert (masked - outputs(subject.model, subject.images)).abs().max() > 1e-2
    assert (masked[0] - masked[1]).abs().max() > 1e-4


@pytest.mark.parametrize("name", NAMES)
def test_they_agree_with_one_filter_left_in_every_layer(name: str) -> None:
    subject = prepared(name)
    plan = subject.planner.plan_maximum()
    masked, removed = [outputs(cut(subject.model, subject.structure, plan), subject.images) for cut in (mask, remove)]
    assert (masked - removed).abs().max() <= 1e-6 * max(1.0, masked.abs().max().item())


@pytest.mark.parametrize("name", ["resnet-narrow", "mobilenet-v2", "digits-cnn"])
def test_masked_and_removed_networks_agree_in_training_mode_too(name: str) -> None:
    """Batch statistics of a zero channel are zero, and γ = β = 0 keeps it so."""
    subject = prepared(name)
    plan = subject.planner.plan(0.8)
    pair = [cut(subject.model, subject.structure, plan).double().train() for cut in (mask, remove)]
    masked, removed = [model(subject.images.double()) for model in pair]
    torch.testing.assert_close(masked, removed, rtol=1e-9, atol=1e-9)


def test_a_shift_left_in_place_would_make_the_networks_differ() -> None:
    subject = prepared("digits-cnn")
    plan = subject.planner.plan(0.8)
    half_masked = mask(subject.model, subject.structure, plan)
    for path, module in half_masked.named_modules():
        if isinstance(module, nn.BatchNorm2d):
            module.bias.data.copy_(subject.model.get_submodule(path).get_parameter("bias"))
    removed = remove(subject.model, subject.structure, plan)
    assert (outputs(half_masked, subject.images) - outputs(removed, subject.images)).abs().max() > 1e-2


@pytest.mark.parametrize("name", ["mobilenet-v2", "resnet-narrow"])
def test_the_removed_network_is_an_ordinary_smaller_network(name: str) -> None:
    subject = prepared(name)
    state = copy.deepcopy(subject.model.state_dict())
    smaller = remove(subject.model, subject.structure, plan_of(name))
    assert type(smaller) is type(subject.model)
    assert [path for path, _ in smaller.named_modules()] == [path for path, _ in subject.model.named_modules()]
    for module in smaller.modules():
        if isinstance(module, nn.Conv2d):
            width = module.in_channels // module.groups
            assert module.weight.shape[:2] == (module.out_channels, width)
        if isinstance(module, nn.BatchNorm2d):
            assert len(module.get_buffer("running_mean")) == len(module.bias) == module.num_features
    smaller.train()(subject.images).sum().backward()
    assert all(parameter.grad is not None for parameter in smaller.parameters())
    assert all(torch.equal(state[key], value) for key, value in subject.model.state_dict().items())


def test_kept_weights_are_those_of_the_original() -> None:
    subject = prepared("digits-cnn")
    plan = subject.planner.plan(0.8)
    smaller = remove(subject.model, subject.structure, plan)
    first, second = [layer.path for layer in subject.structure.layers[:2]]
    kept = [
        [i for i in range(width) if i not in plan.removed.get(path, ())] for path, width in ((first, 16), (second, 32))
    ]
    original = subject.model.get_submodule(second).get_parameter("weight")
    assert torch.equal(smaller.get_submodule(second).weight, original[kept[1]][:, kept[0]])


def test_flattened_filters_take_all_their_pixels_along() -> None:
    model = nn.Sequential(nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 4, 2))
    images = torch.randn(3, 1, 4, 4, generator=torch.Generator().manual_seed(0))
    draw_parameters(model, images)
    structure = trace(model, ["0.weight"], images)
    plan = Planner(model, structure).plan(0.5)
    smaller = remove(model, structure, plan)
    assert smaller[4].in_features == 4 * smaller[0].out_channels
    assert count(smaller) == plan.parameters_after
    torch.testing.assert_close(
        outputs(smaller, images), outputs(mask(model, structure, plan), images), rtol=0, atol=1e-6
    )


def test_positions_of_an_empty_plan_are_empty() -> None:
    subject = prepared("digits-cnn")
    assert removed_positions(subject.structure, PruningPlan({}, 10, 10)) == {}
