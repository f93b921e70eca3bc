"""A small network for CIFAR on a CPU: four 3×3 convolutions of 16, 32, 64, 128 channels, strides 2, 2, 1, 2.

Each convolution has BatchNorm and ReLU; global average pooling and a linear layer follow. About
99,000 parameters, 240 filters and 5.5 MFLOPs an image for ten classes.
"""

from __future__ import annotations

from torch import nn

from ..blocks import conv_norm_relu, initialise

INPUT_SHAPE = (3, 32, 32)


def network(classes: int) -> nn.Module:
    """Return the network with He-normal convolutions."""
    return initialise(
        nn.Sequential(
            conv_norm_relu(3, 16, 3, stride=2),
            conv_norm_relu(16, 32, 3, stride=2),
            conv_norm_relu(32, 64, 3),
            conv_norm_relu(64, 128, 3, stride=2),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(128, classes),
        )
    )


def penalises(path: str, convolution: nn.Conv2d) -> bool:
    """Every convolution."""
    return True
