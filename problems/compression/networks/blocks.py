"""Pieces that the networks built here, and not by torchvision, have in common."""

from __future__ import annotations

from torch import nn


def conv_norm_relu(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Module:
    """Return a convolution that keeps the image size up to `stride`, with BatchNorm and ReLU."""
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


def initialise(model: nn.Module) -> nn.Module:
    """Draw every convolution from N(0, 2 / fan_out) (He et al., 2015), in place; return the model."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return model
