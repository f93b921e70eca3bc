"""MobileNetV2 for 32×32 images: torchvision's network with stem stride 1 and stage strides 1, 1, 2, 2, 1, 2, 1.

Inverted residual blocks of expansion 6 (Sandler et al., 2018). torchvision's dropout before the
classifier is left out: its masks would be drawn from the global random state, not from a run's seed.
"""

from __future__ import annotations

from typing import cast

from torch import nn
from torchvision.models import MobileNetV2

INPUT_SHAPE = (3, 32, 32)

STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 1),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""Expansion, output channels, blocks and first stride of each stage."""


def network(classes: int) -> nn.Module:
    """Return the network with torchvision's initialisation."""
    model = MobileNetV2(num_classes=classes, inverted_residual_setting=[list(stage) for stage in STAGES])
    stem, linear = model.features[0][0], model.classifier[-1]
    stem.stride = (1, 1)
    model.classifier = nn.Sequential(linear)
    return cast(nn.Module, model)


def penalises(path: str, convolution: nn.Conv2d) -> bool:
    """Every convolution but the depthwise ones."""
    return convolution.groups == 1
