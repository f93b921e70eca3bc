"""A fixed stratified split: which images are held out depends on the labels alone, not on a run's seed."""

from __future__ import annotations

from itertools import accumulate

import torch
from torch import Tensor

from mobench.core.streams import Streams

SPLIT_SEED = 0
"""Every run uses this seed, whatever its own: two runs are always compared on the same images."""


def stratified_order(labels: Tensor) -> Tensor:
    """Return a random order of the images in which every prefix holds the classes in proportion.

    Within its class of n images, the image of random rank r = 0 … n−1 is placed at (r + ½)/n of the
    order. A prefix with a fraction p of all images so holds p·n images of each class, up to one.
    """
    shuffled = torch.randperm(len(labels), generator=Streams(SPLIT_SEED).torch("split"))
    by_class = shuffled[labels[shuffled].argsort(stable=True)]
    counts = torch.bincount(labels)
    first = (counts.cumsum(0) - counts).repeat_interleave(counts)
    rank = torch.arange(len(labels)) - first
    place = (rank.double() + 0.5) / counts.repeat_interleave(counts)
    return by_class[place.argsort(stable=True)]


def stratified_split(labels: Tensor, *sizes: int) -> list[Tensor]:
    """Return the ascending indices of stratified parts of the given sizes, then those of the rest."""
    parts = stratified_order(labels).tensor_split(list(accumulate(sizes)))
    return [part.sort().values for part in parts]
