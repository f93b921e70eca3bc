"""Pieces that the networks built here, and not by torchvision, have in common.

torchvision takes seconds to load, because it loads torch's compiler.
"""

from __future__ import annotations

from torch import Tensor, nn


def conv_norm_relu(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Module:
    """Return a convolution that keeps the image size up to `stride`, with BatchNorm and ReLU."""
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class BasicBlock(nn.Module):
    """Two 3×3 convolutions beside a shortcut (He et al., 2016), with torchvision's names for its parts."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1, downsample: nn.Module | None = None) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = downsample

    def forward(self, images: Tensor) -> Tensor:
        """Return ReLU(BN(conv(ReLU(BN(conv(x))))) + shortcut(x))."""
        residual: Tensor = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(images)))))
        shortcut: Tensor = images if self.downsample is None else self.downsample(images)
        rectified: Tensor = self.relu(residual + shortcut)
        return rectified


def initialise(model: nn.Module) -> nn.Module:
    """Draw every convolution from N(0, 2 / fan_out) (He et al., 2015), in place; return the model."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return model
