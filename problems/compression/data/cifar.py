"""CIFAR-10 and CIFAR-100 (Krizhevsky, 2009): 50,000 training and 10,000 test images of 32×32 pixels.

Addresses, file lists and checksums are those of torchvision's classes. Each file is checked each
time it is read. Of the training images 5,000 are held out for validation, the same number of each
class, the same images for every seed.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torchvision import datasets

from .archive import Archive, PublishedFile, verified
from .fetch import require
from .images import Images, Splits
from .split import stratified_split

HELD_OUT = 5_000
"""Training images that become the validation set."""

_CLASSES: dict[str, Any] = {"cifar-10": datasets.CIFAR10, "cifar-100": datasets.CIFAR100}

_STATISTICS = {
    "CIFAR10": ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
    "CIFAR100": ((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)),
}
"""Mean and deviation of red, green and blue over the 50,000 training images, white being 1."""


def published(name: str) -> Archive:
    """Return torchvision's description of `cifar-10` or `cifar-100`."""
    described = _CLASSES[name]
    return Archive(
        title=described.__name__,
        url=described.url,
        packed=PublishedFile(described.filename, described.tgz_md5),
        folder=described.base_folder,
        train=tuple(PublishedFile(*file) for file in described.train_list),
        test=tuple(PublishedFile(*file) for file in described.test_list),
    )


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
