"""Images without a meaning, for a rehearsal: noise in the shapes of a data set, and labels in turn."""

from __future__ import annotations

import torch

from .images import Images, Splits

SHAPES = {"cifar-10": (3, 32, 32), "cifar-100": (3, 32, 32), "digits": (1, 8, 8)}
"""Channels, height and width of each data set."""
HELD_OUT = 64
"""Images in the validation set, and as many in the test set."""


def made_up_images(name: str, classes: int, count: int, *, holdout: bool) -> Splits:
    """Return `count` training images on the CPU, and others to evaluate on; the same in every process."""
    generator = torch.Generator().manual_seed(0)
    shape = SHAPES[name]

    def images(size: int) -> Images:
        pixels = torch.randint(0, 256, (size, *shape), dtype=torch.uint8, generator=generator)
        return Images(pixels, torch.arange(size) % classes, (127.5,) * shape[0], (73.9,) * shape[0])

    train, test = images(count), images(HELD_OUT)
    return Splits(train, images(HELD_OUT) if holdout else None, test, classes, augment=name != "digits")
