"""Several networks on the same images: each answers as if it were alone, and what they have in common runs once."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from mobench.core.streams import Streams
from mobench.problems.compression import networks
from mobench.problems.compression.evaluation import Pruner
from mobench.problems.compression.metrics import TARGETS
from mobench.problems.compression.shared_start import SharedStart


def trained(name: str) -> nn.Module:
    """Return a network whose BatchNorm has seen images, in the memory format of a run."""
    model = networks.build(name, 10, Streams(3).torch("init")).to(memory_format=torch.channels_last)
    model(torch.randn(8, *networks.input_shape(name), generator=torch.Generator().manual_seed(1)))
    return model.eval()


def calls(layers: list[nn.Module]) -> list[int]:
    """Return counters that go up with every call of a layer."""
    counted = [0] * len(layers)

    def count(number: int) -> None:
        counted[number] += 1

    for number, layer in enumerate(layers):
        layer.register_forward_hook(lambda *_, number=number: count(number))
    return counted


@pytest.mark.parametrize("name", ["digits-cnn", "resnet-narrow", "resnet-18"])
@torch.no_grad()
def test_every_pruned_network_answers_to_the_last_bit_what_it_answers_alone(name: str) -> None:
    model = trained(name)
    models = list(Pruner(model, name, True).all_models(TARGETS).values())
    images = torch.randn(5, *networks.input_shape(name), generator=torch.Generator().manual_seed(2))
    for together, network in zip(SharedStart(models)(images), models, strict=True):
        assert torch.equal(together, network(images))


@torch.no_grad()
def test_a_beginning_in_common_is_computed_once() -> None:
    first = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    same, other_end, other_start = (copy.deepcopy(first) for _ in range(3))
    other_end[4].weight.mul_(2.0)
    other_start[0].bias.add_(1.0)
    models = [first, other_end, same, other_start]
    counted = [calls(list(model)) for model in models]
    answers = SharedStart(models)(images := torch.randn(3, 4))
    assert counted == [[1] * 5, [0, 0, 0, 0, 1], [0] * 5, [1] * 5]
    for answer, model in zip(answers, models, strict=True):
        assert torch.equal(answer, model(images))


@torch.no_grad()
def test_layers_of_other_settings_or_another_memory_format_are_not_the_same() -> None:
    first = nn.Sequential(nn.Conv2d(2, 2, 3, padding=1, bias=False), nn.Flatten())
    strided, turned = copy.deepcopy(first), copy.deepcopy(first).to(memory_format=torch.channels_last)
    strided[0].stride = (2, 2)
    counted = [calls(list(model)) for model in (first, strided, turned)]
    SharedStart([first, strided, turned])(torch.randn(1, 2, 4, 4))
    assert counted == [[1, 1]] * 3


@torch.no_grad()
def test_a_layer_that_would_spoil_the_next_network_s_images_is_noticed() -> None:
    class Doubling(nn.Module):
        def __init__(self, shift: float) -> None:
            super().__init__()
            self.shift = nn.Parameter(torch.tensor(shift))

        def forward(self, values: torch.Tensor) -> torch.Tensor:
            return values.mul_(2.0) + self.shift

    with pytest.raises(AssertionError, match="changed what the next network reads"):
        SharedStart([nn.Sequential(Doubling(0.0)), nn.Sequential(Doubling(1.0))])(torch.ones(1))
