"""The endless stream of training batches: seeded, the same on every device, and resumable bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from mobench.errors import UserError

from .augment import Augmentation
from .images import Batch, Images


def check_batch_size(batch_size: int, images: int) -> None:
    """Refuse a batch that is empty or larger than the training set."""
    if not 1 <= batch_size <= images:
        raise UserError(
            f"batch_size={batch_size} is not accepted; "
            f"batch_size takes a whole number from 1 up to {images}, the number of training images"
        )


class TrainStream:
    """Batches of `images` in a new random order each epoch; the last partial batch is dropped.

    All random numbers of an epoch (order, crops, mirrors) are drawn at its start from `generator`,
    which lives on the CPU. So the state of the stream is the generator's state at the start of the
    epoch and the number of batches taken since.
    """

    def __init__(self, images: Images, batch_size: int, augment: bool, generator: torch.Generator) -> None:
        check_batch_size(batch_size, len(images))
        self.images = images
        self.batch_size = batch_size
        self.augment = augment
        self.epoch = 0
        """Number of the epoch the last batch came from, counted from 0."""
        self.position = 0
        """Number of batches taken in this epoch."""
        self._generator = generator
        self._draw()

    @property
    def batches_per_epoch(self) -> int:
        """The number of whole batches in the training set."""
        return len(self.images) // self.batch_size

    def next_batch(self) -> Batch:
        """Return the next normalised images and their labels."""
        if self.position == self.batches_per_epoch:
            self.epoch += 1
            self.position = 0
            self._draw()
        batch = slice(self.position * self.batch_size, (self.position + 1) * self.batch_size)
        self.position += 1
        indices = self._order[batch]
        pixels = self.images.pixels.index_select(0, indices)
        if self._augmentation is not None:
            pixels = self._augmentation[batch].apply(pixels)
        return self.images.normalise(pixels), self.images.labels.index_select(0, indices)

    def state_dict(self) -> dict[str, Any]:
        """Return what the next batches depend on."""
        return {"epoch": self.epoch, "position": self.position, "generator": self._epoch_start.clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; the next batches are then bit-identical."""
        self._generator.set_state(state["generator"])
        self.epoch = state["epoch"]
        self.position = state["position"]
        self._draw()

    def _draw(self) -> None:
        device = self.images.pixels.device
        count = self.batches_per_epoch * self.batch_size
        self._epoch_start = self._generator.get_state()
        self._order = torch.randperm(len(self.images), generator=self._generator)[:count].to(device)
        self._augmentation = Augmentation.draw(count, self._generator, device) if self.augment else None
