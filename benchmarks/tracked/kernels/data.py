"""The input pipeline: shuffled, augmented, normalised batches of images of CIFAR's size."""

from __future__ import annotations

import torch

from mobench.problems.compression.data.images import Images
from mobench.problems.compression.data.stream import TrainStream

from . import Kernel, built_once

BATCH = 128
BATCHES = 16
IMAGES_PER_CALL = BATCH * BATCHES


@built_once
def epoch(augment: bool) -> Kernel:
    """Take as many batches as an epoch has, with its random draws, out of an endless stream."""
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (IMAGES_PER_CALL, 3, 32, 32), dtype=torch.uint8, generator=generator)
    labels = torch.randint(10, (IMAGES_PER_CALL,), generator=generator)
    images = Images(pixels, labels, (127.5,) * 3, (74.0,) * 3)
    stream = TrainStream(images, BATCH, augment, torch.Generator().manual_seed(0))

    def run() -> None:
        for _ in range(BATCHES):
            stream.next_batch()

    return run
