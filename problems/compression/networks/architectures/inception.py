"""An Inception-style network for 32×32 images: a stem and three blocks of four equal branches.

Each block concatenates a 1×1 convolution; a 1×1 reduction followed by a 3×3; a 1×1 reduction
followed by a 5×5; and a max-pooling followed by a 1×1, every convolution with BatchNorm and ReLU.
The branches are 64, 128, 192 channels wide, the reductions max(width/2, 16); the blocks' strides
are 1, 2, 2.

Where the two-step branches apply the stride is not published. Both in the last convolution gives
0.58 GFLOPs, both in the reduction 0.49; one each gives the published 0.53. Which branch has which
is open, as the cost is the same; here the 3×3 is strided in its last convolution and the 5×5 in its
reduction.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import nn

from ..blocks import conv_norm_relu, initialise

INPUT_SHAPE = (3, 32, 32)

STEM = 64
WIDTHS = (64, 128, 192)
STRIDES = (1, 2, 2)
BRANCHES = 4


class InceptionBlock(nn.Module):
    """Four branches of equal width side by side, concatenated over channels."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        reduction = max(width // 2, 16)
        self.point = conv_norm_relu(channels, width, 1, stride)
        self.narrow = nn.Sequential(
            conv_norm_relu(channels, reduction, 1),
            conv_norm_relu(reduction, width, 3, stride),
        )
        self.wide = nn.Sequential(
            conv_norm_relu(channels, reduction, 1, stride),
            conv_norm_relu(reduction, width, 5),
        )
        self.pooled = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=stride, padding=1),
            conv_norm_relu(channels, width, 1),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the concatenated branches."""
        return torch.cat([self.point(x), self.narrow(x), self.wide(x), self.pooled(x)], dim=1)


def network(classes: int) -> nn.Module:
    """Return the network with He-normal convolutions."""
    channels = (STEM, *(BRANCHES * width for width in WIDTHS))
    blocks = [
        InceptionBlock(inputs, outputs // BRANCHES, stride)
        for (inputs, outputs), stride in zip(pairwise(channels), STRIDES, strict=True)
    ]
    return initialise(
        nn.Sequential(
            conv_norm_relu(3, STEM, 3),
            *blocks,
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(channels[-1], classes),
        )
    )


def penalises(path: str, convolution: nn.Conv2d) -> bool:
    """Every convolution."""
    return True
