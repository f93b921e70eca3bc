"""FLOPs and file sizes: hand-counted on small networks, and the published figures of the large ones."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import torch
from torch import nn

from mobench.problems.compression.networks import build, input_shape
from mobench.problems.compression.networks.cost import file_size, flops

MIB = 2**20


@cache
def built(name: str, classes: int) -> nn.Module:
    model: nn.Module = build(name, classes, torch.Generator().manual_seed(0))
    return model


@pytest.mark.parametrize(
    ("name", "classes", "giga"),
    [
        ("densenet-121", 10, 1.82),
        ("densenet-121", 100, 1.82),
        ("resnet-34", 10, 2.33),
        ("resnet-34", 100, 2.33),
        ("inception", 10, 0.53),
        ("inception", 100, 0.53),
        ("mobilenet-v2", 10, 0.19),
        ("mobilenet-v2", 100, 0.19),
    ],
)
def test_published_flops(name: str, classes: int, giga: float) -> None:
    counted = flops(built(name, classes), input_shape(name))
    assert counted / 1e9 == pytest.approx(giga, rel=0.02)
    assert round(counted / 1e9, 2) == giga


@pytest.mark.parametrize(
    ("name", "classes", "mebibytes"),
    [
        ("densenet-121", 10, 27.2),
        ("densenet-121", 100, 27.6),
        ("resnet-34", 10, 81.3),
        ("resnet-34", 100, 81.5),
        ("inception", 10, 5.4),
        ("inception", 100, 5.6),
        ("mobilenet-v2", 10, 8.8),
        ("mobilenet-v2", 100, 9.2),
    ],
)
def test_published_file_sizes(name: str, classes: int, mebibytes: float) -> None:
    assert file_size(built(name, classes)) / MIB == pytest.approx(mebibytes, rel=0.02)


def test_flops_of_a_network_counted_by_hand() -> None:
    model = nn.Sequential(
        nn.Conv2d(2, 6, 3, stride=2, padding=1, bias=False),  # 4×4 outputs of 18 multiply-adds in 6 channels
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.Conv2d(6, 6, 3, padding=1, groups=6, bias=False),  # depthwise: 9 multiply-adds for each output
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(24, 5),
    )
    multiply_adds = 16 * 6 * 18 + 16 * 6 * 9 + 24 * 5
    assert flops(model, (2, 8, 8)) == 2 * multiply_adds + 8 * 16 * 6


def test_counting_leaves_the_network_as_it_was() -> None:
    model = build("digits-cnn", 10, torch.Generator().manual_seed(0)).train()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    flops(model, (1, 8, 8))
    assert model.training
    assert all(module.training for module in model.modules())
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


def test_file_size_is_that_of_the_saved_file(tmp_path: Path) -> None:
    model = built("resnet-narrow", 10)
    path = tmp_path / "model.pt"
    torch.save(model.state_dict(), path)
    # The name of the file is written into it, so that sizes agree up to padding.
    assert file_size(model) == pytest.approx(path.stat().st_size, rel=0.01)


def test_weights_that_are_views_of_one_buffer_do_not_drag_it_along() -> None:
    model = nn.Linear(10, 10, bias=False)
    alone = file_size(model)
    model.weight.data = torch.zeros(100_000)[:100].view(10, 10)
    assert file_size(model) == alone
