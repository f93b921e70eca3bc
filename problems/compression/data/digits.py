"""The 1,797 handwritten 8×8 digits that come with scikit-learn (UCI, Alpaydin and Kaynak, 1998).

Real data that needs no download: 1,077 images to train on, 360 to select on, 360 to report on,
stratified and the same for every seed. Pixels run from 0 to 16; mean and deviation are those of the
1,077 training images.
"""

from __future__ import annotations

import torch
from sklearn import datasets

from .images import Images, Splits
from .split import stratified_split

HELD_OUT = 360
"""Images in the validation set, and as many in the test set."""


def load_digits(*, holdout: bool = True) -> Splits:
    """Return the digits on the CPU; without `holdout` the validation images join the training set."""
    raw = datasets.load_digits()
    pixels = torch.from_numpy(raw.images).to(torch.uint8).unsqueeze(1)
    labels = torch.from_numpy(raw.target).to(torch.int64)
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
