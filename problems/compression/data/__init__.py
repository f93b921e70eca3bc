"""Images to train on, resident on the device as uint8: digits, CIFAR-10 and CIFAR-100.

Importing this package does not import torch.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mobench.errors import unknown

if TYPE_CHECKING:
    import torch

    from .images import Splits

MADE_UP_BATCHES = 2
"""How many batches a rehearsal trains on."""
CLASSES = {"cifar-10": 10, "cifar-100": 100, "digits": 10}
"""The number of classes of each data set."""
NAMES = tuple(CLASSES)
SIZES = {"cifar-10": (45_000, 5_000), "cifar-100": (45_000, 5_000), "digits": (1_077, 360)}
"""The number of training and of held-out images of each data set."""


def load(
    name: str,
    root: str | Path = "data",
    *,
    download: bool = False,
    device: str | torch.device = "cpu",
    holdout: bool = True,
    made_up: int = 0,
) -> Splits:
    """Return the training, validation and test images of data set `name` on `device`.

    `root` is the folder that holds, or with `download` will hold, the folders of CIFAR; the digits
    come with scikit-learn and need neither. The split is the same for every seed, so that all runs
    are selected on the same images. Without `holdout` the validation images stay in the training
    set, as in the published CIFAR runs, and there is no validation set. With `made_up` so many training images only
    have the right shapes, for a rehearsal; nothing is read.
    """
    if made_up and name in NAMES:
        from .made_up import made_up_images

        splits = made_up_images(name, CLASSES[name], made_up, holdout=holdout)
    elif name == "digits":
        from .digits import load_digits

        splits = load_digits(holdout=holdout)
    elif name in NAMES:
        from .cifar import ARCHIVES, load_cifar

        splits = load_cifar(ARCHIVES[name], Path(root), download=download, holdout=holdout)
    else:
        raise unknown("data set", name, NAMES)
    return splits.to(device)
