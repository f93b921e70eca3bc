"""DenseNet-121 for 32×32 images: torchvision's network with a 3×3 stem of stride 1 and no max-pooling.

Growth rate 32, blocks of 6, 12, 24, 16 layers, bottleneck factor 4, compression 0.5 in the
transitions (Huang et al., 2017).
"""

from __future__ import annotations

from typing import cast

from torch import nn
from torchvision.models import DenseNet

INPUT_SHAPE = (3, 32, 32)


def network(classes: int) -> nn.Module:
    """Return the network with torchvision's initialisation; the new stem follows the same rule."""
    model = DenseNet(growth_rate=32, block_config=(6, 12, 24, 16), num_init_features=64, bn_size=4, num_classes=classes)
    model.features.conv0 = nn.Conv2d(3, 64, kernel_size=3, padding=1, bias=False)
    nn.init.kaiming_normal_(model.features.conv0.weight)
    model.features.pool0 = nn.Identity()
    return cast(nn.Module, model)


def penalises(path: str, convolution: nn.Conv2d) -> bool:
    """Every convolution but the stem."""
    return path != "features.conv0"
