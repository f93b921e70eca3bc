"""Speed of the training stream against torchvision's DataLoader with two workers.

Both give batches of 128 normalised images after a random crop with 4-pixel padding and a random
mirror. The stream runs in this process on one thread. The DataLoader's clock starts when its first
batch has arrived, so that starting workers costs it nothing. Without `data.root=` the images are
random; their content changes the speed of neither side.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, RandomSampler
from torchvision import transforms

from benchmarks.peers.row import Asked, Ratio, Row
from mobench.problems.compression.data import load
from mobench.problems.compression.data.images import Images, random_splits
from mobench.problems.compression.data.stream import TrainStream

PART = "data"
COMMAND = "make peers only=data"
FASTER = Asked("≥", 10.0)
BATCH = 128
WORKERS = 2


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    batches: int
    rounds: int
    images: int = 45_000
    root: Path | None = None
    """Where CIFAR-10 lies; None for random images."""


SIZES = {"quick": Size(20, 3), "default": Size(60, 5), "all": Size(80, 9)}


class Photographs(Dataset[tuple[torch.Tensor, int]]):
    """Images as torchvision's CIFAR classes keep and deliver them: arrays, made into pictures one by one."""

    def __init__(self, images: Images, transform: transforms.Compose) -> None:
        self.data = np.ascontiguousarray(images.pixels.permute(0, 2, 3, 1).numpy())
        self.targets: list[int] = images.labels.tolist()
        self.transform = transform

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        image: torch.Tensor = self.transform(Image.fromarray(self.data[index]))
        return image, self.targets[index]


def rows(size: Size) -> Iterator[Row]:
    """Yield how many times more images the stream delivers."""
    torch.set_num_threads(1)
    train = (
        random_splits((3, 32, 32), size.images, 10).train if size.root is None else load("cifar-10", size.root).train
    )
    stream = TrainStream(train, BATCH, True, torch.Generator().manual_seed(0))
    batches = loader(train, size.batches)
    rate_of_stream(stream, size.batches), rate_of_loader(batches)
    pairs = [(rate_of_stream(stream, size.batches), rate_of_loader(batches)) for _ in range(size.rounds)]
    ours, theirs = zip(*pairs, strict=True)
    kind = "random" if size.root is None else "CIFAR-10"
    what = f"{kind}: {median(ours) / 1e3:.0f}k images/s, DataLoader {median(theirs) / 1e3:.1f}k"
    yield Ratio.of(ours, theirs).row(PART, what, COMMAND, FASTER)


def loader(images: Images, batches: int) -> DataLoader[tuple[torch.Tensor, int]]:
    """Return a DataLoader over the same images with the same transforms."""
    steps = [
        transforms.RandomCrop(32, padding=4),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize([value / 255 for value in images.mean], [value / 255 for value in images.std]),
    ]
    photographs = Photographs(images, transforms.Compose(steps))
    sampler = RandomSampler(photographs, num_samples=BATCH * (batches + 1))
    return DataLoader(photographs, BATCH, sampler=sampler, drop_last=True, num_workers=WORKERS, persistent_workers=True)


def rate_of_loader(batches: DataLoader[tuple[torch.Tensor, int]]) -> float:
    iterator = iter(batches)
    next(iterator)
    start = time.perf_counter()
    count = sum(len(images) for images, _ in iterator)
    return count / (time.perf_counter() - start)


def rate_of_stream(stream: TrainStream, batches: int) -> float:
    start = time.perf_counter()
    count = sum(len(stream.next_batch()[0]) for _ in range(batches))
    return count / (time.perf_counter() - start)
