"""Folding a dead filter's constant: exact where a bias can express it, the best constant elsewhere."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn

from mobench.problems.compression.pruning import PruningPlan, fold_constants, mask, remove
from tests.problems.compression.pruning.prepared import (
    NAMES,
    Prepared,
    count,
    folded,
    plan_of,
    prepare,
    prepared,
    pruned,
)


def block(inputs: int, outputs: int, kernel: int = 1, padding: int = 0) -> list[nn.Module]:
    return [nn.Conv2d(inputs, outputs, kernel, padding=padding, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]


def head(inputs: int) -> list[nn.Module]:
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 3)]


def with_dead_filters(model: nn.Sequential, dead: dict[str, tuple[int, ...]]) -> tuple[Prepared, PruningPlan]:
    """Return a trained-looking network whose given filters are zero, as is what BatchNorm saw of them."""
    images = torch.randn(4, 2, 8, 8, generator=torch.Generator().manual_seed(0))
    subject = prepare(model, [f"{path}.weight" for path in dead], images)
    for path, filters in dead.items():
        norm = model.get_submodule(str(int(path) + 1))
        model.get_parameter(f"{path}.weight").data[list(filters)] = 0
        norm.get_buffer("running_mean")[list(filters)] = 0
        norm.get_parameter("bias").data[list(filters)] = 0.7
    return subject, PruningPlan(dead, count(model), 0)


def compare(subject: Prepared, plan: PruningPlan) -> tuple[Tensor, Tensor, Tensor]:
    """Return the outputs of the whole, the pruned and the folded network."""
    pruned = remove(subject.model, subject.structure, plan)
    folded = fold_constants(copy.deepcopy(pruned), subject.model, subject.structure, plan, subject.images[:1])
    with torch.no_grad():
        return subject.model(subject.images), pruned(subject.images), folded(subject.images)


@pytest.mark.parametrize(
    ("layers", "dead"),
    [
        ([*block(2, 6, 3), *head(6)], {"0": (1, 4)}),
        ([*block(2, 6), *block(6, 5), *head(5)], {"0": (0, 3)}),
        ([*block(2, 6), *block(6, 5, 3), *head(5)], {"0": (0, 3), "3": (2,)}),
        ([*block(2, 6), nn.Conv2d(6, 5, 1, bias=False), nn.ReLU(), *head(5)], {"0": (5,)}),
        ([*block(2, 6), nn.Conv2d(6, 5, 1), nn.ReLU(), *head(5)], {"0": (5,)}),
    ],
    ids=["linear reader", "1×1 reader", "3×3 reader without padding", "reader without bias", "reader with bias"],
)
def test_without_zero_padding_the_folded_network_is_the_whole_one(
    layers: list[nn.Module], dead: dict[str, tuple[int, ...]]
) -> None:
    whole, pruned, folded = compare(*with_dead_filters(nn.Sequential(*layers), dead))
    torch.testing.assert_close(folded, whole, rtol=0, atol=2e-6)
    assert (pruned - whole).abs().max() > 1e-2


def test_with_zero_padding_the_shift_is_the_mean_over_pixels() -> None:
    model = nn.Sequential(*block(2, 6), nn.Conv2d(6, 5, 3, padding=1), *head(5))
    subject, plan = with_dead_filters(model, {"0": (2,)})
    pruned = remove(model, subject.structure, plan)
    folded = fold_constants(copy.deepcopy(pruned), model, subject.structure, plan, subject.images[:1])
    with torch.no_grad():
        whole, shifted, plain = [m[:4](subject.images) for m in (model, folded, pruned)]
        torch.testing.assert_close(shifted.mean(dim=(2, 3)), whole.mean(dim=(2, 3)), rtol=0, atol=1e-6)
        assert (shifted - whole).abs().max() > 1e-3
        assert (shifted - whole).square().mean() < 0.5 * (plain - whole).square().mean()
        torch.testing.assert_close(folded(subject.images), model(subject.images), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "densenet-121"])
def test_folding_adds_no_parameters_where_every_reader_is_normalised(name: str) -> None:
    with torch.no_grad():
        shifted, plain = folded(name), pruned(name)
        assert count(shifted) == count(plain)
        assert (shifted(prepared(name).images) - plain(prepared(name).images)).abs().max() > 1e-3


def test_folding_adds_one_bias_per_filter_that_is_concatenated_before_it_is_normalised() -> None:
    plain, shifted = pruned("densenet-121"), folded("densenet-121")
    added = [module for module in shifted.modules() if isinstance(module, nn.Conv2d) and module.bias is not None]
    assert count(shifted) - count(plain) == sum(module.out_channels for module in added) > 0
    assert (count(shifted) - count(plain)) / prepared("densenet-121").planner.parameters < 3e-4


def test_folding_does_not_depend_on_the_example_and_leaves_the_original_alone() -> None:
    subject = prepared("mobilenet-v2")
    plan = plan_of("mobilenet-v2")
    state = copy.deepcopy(subject.model.state_dict())
    networks = [
        fold_constants(pruned("mobilenet-v2"), subject.model, subject.structure, plan, example)
        for example in (subject.images, torch.zeros_like(subject.images[:1]))
    ]
    with torch.no_grad():
        first, second = [network(subject.images) for network in networks]
    torch.testing.assert_close(first, second, rtol=0, atol=1e-6)
    assert all(torch.equal(state[key], value) for key, value in subject.model.state_dict().items())


def test_folding_equals_masking_where_no_shift_is_positive() -> None:
    """ReLU turns a negative β into zero: nothing to fold."""
    model = nn.Sequential(*block(2, 6), *block(6, 5), *head(5))
    subject, plan = with_dead_filters(model, {"0": (0, 3)})
    model.get_parameter("1.bias").data[[0, 3]] = -0.7
    _, pruned, folded = compare(subject, plan)
    assert torch.equal(pruned, folded)
    with torch.no_grad():
        masked = mask(model, subject.structure, plan)(subject.images)
    torch.testing.assert_close(folded, masked, rtol=0, atol=1e-6)
