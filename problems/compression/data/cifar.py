"""CIFAR-10 and CIFAR-100 (Krizhevsky, 2009): 50,000 training and 10,000 test images of 32×32 pixels.

Addresses, file lists and checksums are those of torchvision's classes, which take seconds to load. Each file is
checked each time it is read. Of the training images 5,000 are held out for validation, the same number of each
class, the same images for every seed.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from .archive import Archive, PublishedFile, verified
from .fetch import require
from .images import Images, Splits
from .split import stratified_split

HELD_OUT = 5_000
"""Training images that become the validation set."""

_PUBLISHER = "https://www.cs.toronto.edu/~kriz"
ARCHIVES = {
    "cifar-10": Archive(
        title="CIFAR10",
        url=f"{_PUBLISHER}/cifar-10-python.tar.gz",
        packed=PublishedFile("cifar-10-python.tar.gz", "c58f30108f718f92721af3b95e74349a"),
        folder="cifar-10-batches-py",
        train=(
            PublishedFile("data_batch_1", "c99cafc152244af753f735de768cd75f"),
            PublishedFile("data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"),
            PublishedFile("data_batch_3", "54ebc095f3ab1f0389bbae665268c751"),
            PublishedFile("data_batch_4", "634d18415352ddfa80567beed471001a"),
            PublishedFile("data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"),
        ),
        test=(PublishedFile("test_batch", "40351d587109b95175f43aff81a1287e"),),
    ),
    "cifar-100": Archive(
        title="CIFAR100",
        url=f"{_PUBLISHER}/cifar-100-python.tar.gz",
        packed=PublishedFile("cifar-100-python.tar.gz", "eb9058c3a382ffc7106e4002c42a8d85"),
        folder="cifar-100-python",
        train=(PublishedFile("train", "16019d7e3df5f24257cddd939b257f8d"),),
        test=(PublishedFile("test", "f0ef6b0ae62326f3e7ffdfab6717acfc"),),
    ),
}

_STATISTICS = {
    "CIFAR10": ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
    "CIFAR100": ((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)),
}
"""Mean and deviation of red, green and blue over the 50,000 training images, white being 1."""


def load_cifar(archive: Archive, root: Path, *, download: bool = False, holdout: bool = True) -> Splits:
    """Return the data set on the CPU; without `holdout` all training images are trained on."""
    require(archive, root, download=download)
    folder = root / archive.folder
    everything, test = (_images(archive.title, folder, files) for files in (archive.train, archive.test))
    train, val = everything, None
    if holdout:
        held_out, kept = stratified_split(everything.labels, HELD_OUT)
        train, val = everything.take(kept), everything.take(held_out)
    return Splits(train, val, test, classes=int(everything.labels.max()) + 1, augment=True)


def _images(title: str, folder: Path, files: Iterable[PublishedFile]) -> Images:
    parts = [_read(folder / file.name, file.md5) for file in files]
    pixels, labels = (torch.cat(tensors) for tensors in zip(*parts, strict=True))
    mean, std = (tuple(255.0 * value for value in values) for values in _STATISTICS[title])
    return Images(pixels, labels, mean, std)


def _read(path: Path, md5: str) -> tuple[Tensor, Tensor]:
    """Return pixels and labels of one file; it is unpickled only after its checksum was found right."""
    content = pickle.loads(verified(path, md5), encoding="latin1")
    labels = content["labels"] if "labels" in content else content["fine_labels"]
    pixels = np.ascontiguousarray(content["data"]).reshape(-1, 3, 32, 32)
    return torch.from_numpy(pixels), torch.tensor(labels)
