"""Random crop and horizontal flip of a whole batch at once, as tensor operations on uint8 pixels."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

PADDING = 4
"""Black pixels added on each side before the crop back to the original size."""


@dataclass(frozen=True)
class Augmentation:
    """The random draws for a number of images: where each crop begins and whether it is mirrored."""

    rows: Tensor
    columns: Tensor
    """First row and column of the crop in the padded image, uniform on 0 … 2·PADDING."""
    flips: Tensor
    """Whether to mirror, each with probability ½."""

    @classmethod
    def draw(cls, count: int, generator: torch.Generator, device: torch.device) -> Augmentation:
        """Draw for `count` images on the CPU, so that every device gets the same numbers."""
        rows, columns = torch.randint(2 * PADDING + 1, (2, count), generator=generator)
        flips = torch.randint(2, (count,), generator=generator)
        return cls(rows.to(device), columns.to(device), flips.to(device))

    def __getitem__(self, batch: slice) -> Augmentation:
        return Augmentation(self.rows[batch], self.columns[batch], self.flips[batch])

    def apply(self, pixels: Tensor) -> Tensor:
        """Return the cropped and mirrored images (batch × channels × height × width)."""
        return mirrored(cropped(pixels, self.rows, self.columns), self.flips)


def cropped(pixels: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Pad each image with zeros and cut a window of the original size out of it.

    A window is a strided view of the padded batch that is fixed by its first element. The view
    below holds every such window, and the crop is one selection of rows from it.
    """
    count, channels, height, width = pixels.shape
    padded = functional.pad(pixels, (PADDING,) * 4)
    image_stride, channel_stride, row_stride, _ = padded.stride()
    last_first = padded.numel() - (channels - 1) * channel_stride - (height - 1) * row_stride - width
    windows = padded.as_strided((last_first + 1, channels, height, width), (1, channel_stride, row_stride, 1))
    first = torch.arange(count, device=pixels.device) * image_stride + rows * row_stride + columns
    return windows.index_select(0, first)


def mirrored(pixels: Tensor, flips: Tensor) -> Tensor:
    """Mirror the images whose entry of `flips` is 1 from left to right; the others have 0."""
    count = len(pixels)
    both = torch.cat([pixels, pixels.flip(3)])
    return both.index_select(0, torch.arange(count, device=pixels.device) + count * flips)
