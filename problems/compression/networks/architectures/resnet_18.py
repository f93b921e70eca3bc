"""ResNet-18 for 32×32 images: torchvision's network with a 3×3 stem of stride 1 and no max-pooling.

Stages of 2, 2, 2, 2 basic blocks with 64, 128, 256, 512 channels (He et al., 2016): 11.2 M parameters,
1.1 GFLOPs an image.
"""

from __future__ import annotations

from torch import nn

from ..resnets import INPUT_SHAPE, penalises, small_image_resnet

__all__ = ["INPUT_SHAPE", "network", "penalises"]


def network(classes: int) -> nn.Module:
    """Return the network with its initial weights."""
    return small_image_resnet((2, 2, 2, 2), classes)
