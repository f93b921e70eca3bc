"""What the ResNets for 32×32 images share: torchvision's network with a 3×3 stem of stride 1 and no max-pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from torch import nn
from torchvision.models import ResNet
from torchvision.models.resnet import BasicBlock

INPUT_SHAPE = (3, 32, 32)


def small_image_resnet(blocks: Sequence[int], classes: int) -> nn.Module:
    """Return stages of so many basic blocks with torchvision's initialisation; the new stem follows the same rule."""
    model = ResNet(BasicBlock, list(blocks), num_classes=classes)
    model.conv1 = nn.Conv2d(3, 64, kernel_size=3, padding=1, bias=False)
    nn.init.kaiming_normal_(model.conv1.weight, mode="fan_out", nonlinearity="relu")
    model.maxpool = nn.Identity()
    return cast(nn.Module, model)


def penalises(path: str, convolution: nn.Conv2d) -> bool:
    """Every convolution but the 1×1 shortcuts."""
    return ".downsample." not in path
