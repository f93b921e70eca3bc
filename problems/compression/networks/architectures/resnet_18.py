"""ResNet-18 for 32×32 images: torchvision's network with a 3×3 stem of stride 1 and no max-pooling.

Stages of 2, 2, 2, 2 basic blocks with 64, 128, 256, 512 channels (He et al., 2016): 11.2 M parameters,
1.1 GFLOPs an image.
"""

from __future__ import annotations

from typing import cast

from torch import nn
from torchvision.models import ResNet
from torchvision.models.resnet import BasicBlock

INPUT_SHAPE = (3, 32, 32)


def network(classes: int) -> nn.Module:
    """Return the network with torchvision's initialisation; the new stem follows the same rule."""
    model = ResNet(BasicBlock, [2, 2, 2, 2], num_classes=classes)
    model.conv1 = nn.Conv2d(3, 64, kernel_size=3, padding=1, bias=False)
    nn.init.kaiming_normal_(model.conv1.weight, mode="fan_out", nonlinearity="relu")
    model.maxpool = nn.Identity()
    return cast(nn.Module, model)


def penalises(path: str, convolution: nn.Conv2d) -> bool:
    """Every convolution but the 1×1 shortcuts, as in ResNet-34."""
    return ".downsample." not in path
