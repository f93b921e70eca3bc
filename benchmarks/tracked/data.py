"""Layer: the input pipeline."""

from __future__ import annotations

import timeit

from .kernels import data
from .measured import Measured


class Stream(Measured):
    """An epoch of 2,048 images in batches of 128, with and without augmentation."""

    params = ((False, True),)
    param_names = ("augment",)

    def time_epoch(self, augment: bool) -> None:
        data.epoch(augment)()

    def track_images_per_second(self, augment: bool) -> float:
        run = data.epoch(augment)
        run()
        return data.IMAGES_PER_CALL / min(timeit.repeat(run, number=1, repeat=10, timer=Measured.timer))

    track_images_per_second.unit = "images/s"  # type: ignore[attr-defined]
