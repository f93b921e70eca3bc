"""A small network for the 8×8 digits: three 3×3 convolutions of 16, 32, 64 channels and strides 2, 1, 2.

Each convolution has BatchNorm and ReLU; global average pooling and a linear layer follow. About
24,000 parameters and 112 filters for ten classes.
"""

from __future__ import annotations

from torch import nn

from ..blocks import conv_norm_relu, initialise

INPUT_SHAPE = (1, 8, 8)
IN_LOCKSTEP = True


def network(classes: int) -> nn.Module:
    """Return the network with He-normal convolutions."""
    return initialise(
        nn.Sequential(
            conv_norm_relu(1, 16, 3, stride=2),
            conv_norm_relu(16, 32, 3),
            conv_norm_relu(32, 64, 3, stride=2),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(64, classes),
        )
    )


def penalises(path: str, convolution: nn.Conv2d) -> bool:
    """Every convolution."""
    return True
