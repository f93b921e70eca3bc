"""The 1,797 handwritten 8×8 digits that come with scikit-learn (UCI, Alpaydin and Kaynak, 1998).

Real data that needs no download: 1,077 images to train on, 360 to select on, 360 to report on,
stratified and the same for every seed. Pixels run from 0 to 16; mean and deviation are those of the
1,077 training images.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from .images import Images, Splits
from .split import stratified_split

HELD_OUT = 360
"""Images in the validation set, and as many in the test set."""


@cache
def load_digits(*, holdout: bool = True) -> Splits:
    """Return the digits on the CPU; without `holdout` the validation images join the training set.

    They are read once in a process, and nobody writes to them.
    """
    pixels, labels = _pixels_and_labels()
    test, val, train = stratified_split(labels, HELD_OUT, HELD_OUT)
    std, mean = torch.std_mean(pixels[train].double(), correction=0)
    images = Images(pixels, labels, (float(mean),), (float(std),))
    if not holdout:
        train = torch.cat([train, val]).sort().values
    return Splits(
        train=images.take(train),
        val=images.take(val) if holdout else None,
        test=images.take(test),
        classes=10,
        augment=False,
    )


def _pixels_and_labels() -> tuple[Tensor, Tensor]:
    """Read scikit-learn's file itself where it is in its place: importing the package takes longer than training."""
    found = find_spec("sklearn")
    folders = [] if found is None else found.submodule_search_locations or []
    files = [path for folder in folders if (path := Path(folder, "datasets", "data", "digits.csv.gz")).is_file()]
    if files:
        table = np.loadtxt(files[0], delimiter=",", dtype=np.uint8)
        images, labels = table[:, :-1].reshape(-1, 8, 8), table[:, -1]
    else:
        from sklearn import datasets

        raw = datasets.load_digits()
        images, labels = raw.images, raw.target
    return torch.from_numpy(images).to(torch.uint8).unsqueeze(1), torch.from_numpy(labels).to(torch.int64)
