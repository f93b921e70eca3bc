"""Networks: found by name, initialised by their generator alone, with the published filter groups."""

from __future__ import annotations

import copy
import subprocess
import sys
from functools import cache

import pytest
import torch
from torch import nn

from mobench.errors import UserError
from mobench.problems.compression.networks import build, input_shape, names, penalised

NAMES = (
    "cifar-cnn",
    "densenet-121",
    "digits-cnn",
    "inception",
    "mobilenet-v2",
    "resnet-18",
    "resnet-34",
    "resnet-narrow",
)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@cache
def built(name: str) -> nn.Module:
    model: nn.Module = build(name, 10, seeded(0))
    return model


def test_every_file_of_the_folder_is_a_network() -> None:
    assert names() == NAMES


def test_listing_the_names_loads_no_network_library() -> None:
    code = (
        "import sys; from mobench.problems.compression import networks; networks.names();"
        "sys.exit('torchvision' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_unknown_network_names_the_nearest() -> None:
    with pytest.raises(UserError, match=r"unknown network 'resnet34'.*Did you mean 'resnet-34'"):
        build("resnet34", 10, seeded(0))


@pytest.mark.parametrize("name", NAMES)
def test_weights_depend_on_the_generator_alone(name: str) -> None:
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    first = build(name, 10, seeded(5)).state_dict()
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(4)
    second = build(name, 10, seeded(5)).state_dict()
    assert first.keys() == second.keys()
    assert all(torch.equal(first[key], second[key]) for key in first)


@pytest.mark.parametrize("name", NAMES)
def test_other_seeds_draw_every_weight_anew(name: str) -> None:
    generator = seeded(5)
    one, two = build(name, 10, generator), build(name, 10, generator)
    for (path, a), (_, b) in zip(one.named_parameters(), two.named_parameters(), strict=True):
        # BatchNorm starts at 1 and 0, and torchvision sets some linear biases to 0.
        assert a.ndim == 1 or not torch.equal(a, b), path


@pytest.mark.parametrize("name", NAMES)
def test_convolutions_start_at_the_he_scale(name: str) -> None:
    convolutions = [module for module in built(name).modules() if isinstance(module, nn.Conv2d) and module.groups == 1]
    for module in convolutions:
        outputs, inputs, height, width = module.weight.shape
        fan = (inputs if name == "densenet-121" else outputs) * height * width
        tolerance = 5 / (2 * module.weight.numel()) ** 0.5  # five deviations of a sample deviation
        assert module.weight.std().item() == pytest.approx((2 / fan) ** 0.5, rel=tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_one_score_for_each_class(name: str) -> None:
    model = build(name, 100, seeded(0)).to("meta")
    assert model(torch.empty(2, *input_shape(name), device="meta")).shape == (2, 100)


@pytest.mark.parametrize("name", NAMES)
def test_a_training_step_draws_nothing_and_reaches_every_weight(name: str) -> None:
    model = copy.deepcopy(built(name)).train()
    images = torch.randn(2, *input_shape(name), generator=seeded(1))
    before = torch.random.get_rng_state()
    model(images).square().sum().backward()
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("resnet-18", 3_904),
        ("resnet-34", 7_616),
        ("densenet-121", 10_176),
        ("inception", 1_984),
        ("mobilenet-v2", 9_920),
        ("digits-cnn", 112),
        ("cifar-cnn", 240),
        ("resnet-narrow", 16 + 2 * (16 + 32 + 64 + 128)),
    ],
)
def test_number_of_filter_groups(name: str, groups: int) -> None:
    assert sum(len(weight) for _, weight in penalised(built(name))) == groups


@pytest.mark.parametrize(
    ("name", "left_out"),
    [
        ("resnet-18", {f"layer{stage}.0.downsample.0" for stage in (2, 3, 4)}),
        ("resnet-34", {f"layer{stage}.0.downsample.0" for stage in (2, 3, 4)}),
        ("densenet-121", {"features.conv0"}),
        ("inception", set()),
        ("mobilenet-v2", {f"features.{block}.conv.{0 if block == 1 else 1}.0" for block in range(1, 18)}),
        ("digits-cnn", set()),
        ("cifar-cnn", set()),
        ("resnet-narrow", {f"{block}.downsample.0" for block in (2, 3, 4)}),
    ],
)
def test_the_convolutions_left_out(name: str, left_out: set[str]) -> None:
    model = built(name)
    convolutions = {path for path, module in model.named_modules() if isinstance(module, nn.Conv2d)}
    chosen = dict(penalised(model))
    assert {f"{path}.weight" for path in convolutions - left_out} == chosen.keys()
    assert left_out <= convolutions
    parameters = dict(model.named_parameters())
    assert all(weight is parameters[path] for path, weight in chosen.items())


def test_a_copy_keeps_its_penalised_set() -> None:
    model = built("resnet-narrow")
    duplicate = copy.deepcopy(model)
    assert [path for path, _ in penalised(duplicate)] == [path for path, _ in penalised(model)]
    assert penalised(duplicate)[0][1] is not penalised(model)[0][1]


def test_size_of_the_small_networks() -> None:
    assert sum(p.numel() for p in built("digits-cnn").parameters()) == 24_058
    assert sum(p.numel() for p in built("cifar-cnn").parameters()) == 98_970
    assert sum(p.numel() for p in built("resnet-narrow").parameters()) == 308_826
