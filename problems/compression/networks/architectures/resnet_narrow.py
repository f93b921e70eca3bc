"""A narrow ResNet for training on a CPU: the layout of ResNet-34 at a quarter of its width.

A 3×3 stem and four stages of one basic block each with 16, 32, 64, 128 channels: 0.31 M parameters,
32 MFLOPs an image.
"""

from __future__ import annotations

from itertools import pairwise

from torch import nn

from ..blocks import BasicBlock, conv_norm_relu, initialise

INPUT_SHAPE = (3, 32, 32)

WIDTHS = (16, 32, 64, 128)


def network(classes: int) -> nn.Module:
    """Return the network with He-normal convolutions."""
    return initialise(
        nn.Sequential(
            conv_norm_relu(3, WIDTHS[0], 3),
            BasicBlock(WIDTHS[0], WIDTHS[0]),
            *(_halving_block(inputs, outputs) for inputs, outputs in pairwise(WIDTHS)),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(WIDTHS[-1], classes),
        )
    )


def penalises(path: str, convolution: nn.Conv2d) -> bool:
    """Every convolution but the 1×1 shortcuts, as in ResNet-34."""
    return ".downsample." not in path


def _halving_block(inputs: int, outputs: int) -> nn.Module:
    """Return a basic block of stride 2 whose shortcut is a 1×1 convolution with BatchNorm."""
    shortcut = nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel_size=1, stride=2, bias=False),
        nn.BatchNorm2d(outputs),
    )
    return BasicBlock(inputs, outputs, stride=2, downsample=shortcut)
