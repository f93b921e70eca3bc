"""Labelled images as uint8 tensors, normalised when a batch is taken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from mobench.core.quiet import QUIET

Batch = tuple[Tensor, Tensor]
"""Normalised float32 images (batch × channels × height × width) and their int64 labels."""


@dataclass(frozen=True)
class Images:
    """Images and labels on one device, with the mean and deviation of each channel."""

    pixels: Tensor
    """uint8, images × channels × height × width."""
    labels: Tensor
    """int64, one for each image."""
    mean: tuple[float, ...]
    """Mean of each channel, in the units of `pixels`."""
    std: tuple[float, ...]
    """Standard deviation of each channel, in the units of `pixels`."""

    def __len__(self) -> int:
        return len(self.pixels)

    def to(self, device: str | torch.device) -> Images:
        """Return the same images on `device`."""
        return Images(self.pixels.to(device), self.labels.to(device), self.mean, self.std)

    def take(self, indices: Tensor) -> Images:
        """Return the images at `indices`."""
        return Images(self.pixels[indices], self.labels[indices], self.mean, self.std)

    def normalise(self, pixels: Tensor) -> Tensor:
        """Return (pixels − mean) / std in float32, channel by channel."""
        mean, reciprocal = self._statistics
        return pixels.to(torch.float32).sub_(mean).mul_(reciprocal)

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield all images once, in order, for evaluation; the last batch may be smaller.

        Between batches others may have the machine for themselves.
        """
        for start in range(0, len(self), size):
            batch = slice(start, start + size)
            QUIET.pause()
            yield self.normalise(self.pixels[batch]), self.labels[batch]

    @cached_property
    def _statistics(self) -> tuple[Tensor, Tensor]:
        mean, std = (torch.tensor(values, dtype=torch.float64).view(-1, 1, 1) for values in (self.mean, self.std))
        device = self.pixels.device
        return mean.to(device, torch.float32), (1.0 / std).to(device, torch.float32)


@dataclass(frozen=True)
class Splits:
    """A data set: what is trained on, what is selected on, and what is only reported."""

    train: Images
    val: Images | None
    test: Images
    classes: int
    augment: bool
    """Whether training crops and flips the images: sensible for photographs, not for digits."""

    def to(self, device: str | torch.device) -> Splits:
        """Return the same data on `device`."""
        val = None if self.val is None else self.val.to(device)
        return Splits(self.train.to(device), val, self.test.to(device), self.classes, self.augment)


def random_splits(shape: tuple[int, int, int], count: int, classes: int) -> Splits:
    """Return noise that looks like a data set of coloured images; its three parts are the same."""
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (count, *shape), dtype=torch.uint8, generator=generator)
    labels = torch.randint(classes, (count,), generator=generator)
    images = Images(pixels, labels, (127.5,) * shape[0], (74.0,) * shape[0])
    return Splits(images, images, images, classes, augment=True)
