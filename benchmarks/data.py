"""Speed of the training stream against torchvision's DataLoader with two workers, on real CIFAR-10.

    python benchmarks/data.py data.root=DIR

Both give batches of 128 normalised images after a random crop with 4-pixel padding and a random
mirror. The stream runs in this process on one thread. The DataLoader's clock starts when its first
batch has arrived, so that starting workers costs it nothing. Rounds alternate between the two; the
medians and the median of the rounds' ratios are printed.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import torch
from torch.utils.data import DataLoader, RandomSampler
from torchvision import datasets, transforms

from mobench.problems.compression.data import load
from mobench.problems.compression.data.stream import TrainStream

BATCH = 128
BATCHES = 80
ROUNDS = 9
WORKERS = 2


def loader(root: Path, mean: tuple[float, ...], std: tuple[float, ...]) -> DataLoader[torch.Tensor]:
    steps = [
        transforms.RandomCrop(32, padding=4),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize([value / 255 for value in mean], [value / 255 for value in std]),
    ]
    images = datasets.CIFAR10(str(root), train=True, transform=transforms.Compose(steps))
    sampler = RandomSampler(images, num_samples=BATCH * (BATCHES + 1))
    return DataLoader(images, BATCH, sampler=sampler, drop_last=True, num_workers=WORKERS, persistent_workers=True)


def rate_of_loader(batches: DataLoader[torch.Tensor]) -> float:
    iterator = iter(batches)
    next(iterator)
    start = time.perf_counter()
    count = sum(len(images) for images, _ in iterator)
    return count / (time.perf_counter() - start)


def rate_of_stream(stream: TrainStream) -> float:
    start = time.perf_counter()
    count = sum(len(stream.next_batch()[0]) for _ in range(BATCHES))
    return count / (time.perf_counter() - start)


def main() -> None:
    key, _, value = sys.argv[1].partition("=") if len(sys.argv) == 2 else ("", "", "")
    if key != "data.root" or not value:
        sys.exit("usage: python benchmarks/data.py data.root=DIR")
    torch.set_num_threads(1)
    root = Path(value)
    train = load("cifar-10", root).train
    stream = TrainStream(train, BATCH, True, torch.Generator().manual_seed(0))
    batches = loader(root, train.mean, train.std)
    rate_of_stream(stream), rate_of_loader(batches)
    pairs = [(rate_of_stream(stream), rate_of_loader(batches)) for _ in range(ROUNDS)]
    ours, theirs = (statistics.median(rates) for rates in zip(*pairs, strict=True))
    ratio = statistics.median(mine / other for mine, other in pairs)
    print(f"stream, one thread        {ours:>10,.0f} images/s")
    print(f"DataLoader, {WORKERS} workers     {theirs:>10,.0f} images/s")
    print(f"median paired ratio       {ratio:>10.1f}  ({ROUNDS} rounds of {BATCHES} batches)")


if __name__ == "__main__":
    main()
