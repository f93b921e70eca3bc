"""CelebA: forty attributes of a face, each a task."""

from __future__ import annotations

import os
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mobench.core.about import Formula, Reference
from mobench.core.metric import Metric
from mobench.core.problem import Task, TaskProblem
from mobench.core.registry import register
from mobench.core.resources import resources
from mobench.core.settings import integer
from mobench.core.streams import Streams

from .classification import Classification, accuracy_metrics
from .task import Data, Rows
from .torchvision_data import read_or_explain

ATTRIBUTES = (
    "5_o_Clock_Shadow",
    "Arched_Eyebrows",
    "Attractive",
    "Bags_Under_Eyes",
    "Bald",
    "Bangs",
    "Big_Lips",
    "Big_Nose",
    "Black_Hair",
    "Blond_Hair",
    "Blurry",
    "Brown_Hair",
    "Bushy_Eyebrows",
    "Chubby",
    "Double_Chin",
    "Eyeglasses",
    "Goatee",
    "Gray_Hair",
    "Heavy_Makeup",
    "High_Cheekbones",
    "Male",
    "Mouth_Slightly_Open",
    "Mustache",
    "Narrow_Eyes",
    "No_Beard",
    "Oval_Face",
    "Pale_Skin",
    "Pointy_Nose",
    "Receding_Hairline",
    "Rosy_Cheeks",
    "Sideburns",
    "Smiling",
    "Straight_Hair",
    "Wavy_Hair",
    "Wearing_Earrings",
    "Wearing_Hat",
    "Wearing_Lipstick",
    "Wearing_Necklace",
    "Wearing_Necktie",
    "Young",
)
"""In the order of the data set's own list."""
SPLITS = ("train", "valid", "test")
TRAINED_ON = 162_770
"""Images of the data set's own training part."""
SIDE = 64
"""Images are scaled to this many pixels a side."""
WIDTHS = (32, 64, 128, 256)


@register
class CelebA(TaskProblem):
    """Say of a face which of forty attributes it has, with one network.

    Each attribute is a classification in two classes and an objective. Images are scaled to 64×64 pixels. The shared
    trunk has four convolutions with group normalisation, ReLU and pooling; each attribute has a linear head. Group
    normalisation has no running statistics, so that training and evaluation see the same network. The parts to train
    on, to select on and to report on are the data set's own.

    torchvision reads the data from `data.root`, and fetches it with `data.download`. Images are decoded once and kept
    beside the files as one array. Where the folder cannot be written, every process decodes them again.
    """

    id = "celeba@1"
    has_second_batch = True
    title = "CelebA, forty attributes of a face"
    formulas = (
        Formula(
            r"L_i(\theta) = -\frac{1}{B} \sum_{b=1}^{B} \log\,p_{\theta, h_i}(y_{b,i} \mid x_b)",
            "Cross-entropy of attribute i over a batch of B images",
        ),
    )
    reference = Reference(
        "Z. Liu, P. Luo, X. Wang and X. Tang",
        "Deep Learning Face Attributes in the Wild",
        "ICCV",
        2015,
        "https://arxiv.org/abs/1411.7766",
    )

    tasks: int = integer(40, low=2, high=40, meaning="how many attributes, the first ones of the data set's list")
    batch_size: int = integer(256, low=1, meaning="images per step")

    def objectives(self) -> tuple[str, ...]:
        return ATTRIBUTES[: self.tasks]

    def lower_bounds(self, seed: int) -> tuple[float, ...]:
        return (0.0,) * self.tasks

    def metrics(self) -> tuple[Metric, ...]:
        return (*super().metrics(), *accuracy_metrics(self.objectives()))

    def steps_per_epoch(self) -> int:
        return TRAINED_ON // self.batch_size

    def prepare(self) -> None:
        self._data()

    def _data(self) -> Data:
        machine = resources()
        whole = faces(machine.data_root, machine.may_download)
        return Data(*(Rows(part.inputs, part.targets[:, : self.tasks]) for part in whole))

    def start(self, streams: Streams) -> Task:
        names = self.objectives()

        def build() -> tuple[nn.Module, list[nn.Module]]:
            return trunk(), [nn.Linear(WIDTHS[-1], 2) for _ in names]

        return Classification(names, build, self._data(), self.batch_size, streams)


class Centred(nn.Module):
    """Bytes as numbers from −1 to 1; images stay bytes in memory."""

    def forward(self, pixels: Tensor) -> Tensor:
        return pixels.float() / 127.5 - 1.0


def trunk() -> nn.Module:
    """Return the shared layers, from images to features."""
    layers: list[nn.Module] = [Centred()]
    for before, width in zip((3, *WIDTHS), WIDTHS, strict=False):
        layers += [nn.Conv2d(before, width, 3, padding=1), nn.GroupNorm(8, width), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())


@cache
def faces(root: str, download: bool) -> tuple[Rows, Rows, Rows]:
    """Return images as bytes and all attributes, of each part."""
    from torchvision import datasets

    folder = Path(root) / datasets.CelebA.base_folder
    needs = " (with the package gdown, from a service with limits; by hand: unpack img_align_celeba.zip there)"

    def part(split: str) -> Rows:
        read = partial(datasets.CelebA, root, split=split, target_type="attr", download=download)
        found = read_or_explain("celeba", folder, read, needs)
        pixels = read_or_explain("celeba", folder, partial(_pixels, found, folder, split), needs)
        return Rows(pixels, found.attr)

    train, validation, test = map(part, SPLITS)
    return train, validation, test


def _pixels(images: Any, folder: Path, split: str) -> Tensor:
    """Return the images of a part (N×3×64×64), decoded or as they were kept."""
    kept = folder / f"mobench-{split}-{SIDE}.npy"
    if kept.is_file():
        stored = np.load(kept)
        if stored.shape == (len(images), 3, SIDE, SIDE):
            return torch.from_numpy(stored)
    decoded = np.empty((len(images), 3, SIDE, SIDE), dtype=np.uint8)
    for place, name in enumerate(images.filename):
        decoded[place] = _decoded(folder / "img_align_celeba" / name)
    _keep(decoded, kept)
    return torch.from_numpy(decoded)


def _decoded(path: Path) -> np.ndarray:
    from PIL import Image

    with Image.open(path) as image:
        scaled = image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    return np.asarray(scaled, dtype=np.uint8).transpose(2, 0, 1)


def _keep(decoded: np.ndarray, path: Path) -> None:
    """Write the array whole or not at all; a folder that cannot be written is no failure."""
    unfinished = path.with_suffix(f".{os.getpid()}.npy")
    try:
        np.save(unfinished, decoded)
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
