"""Two overlaid images, each to be recognised: MultiMNIST, also from the digits that come with scikit-learn."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mobench.core.about import Formula, Reference
from mobench.core.metric import Metric
from mobench.core.problem import Bounds, Task, TaskProblem
from mobench.core.registry import register
from mobench.core.resources import resources
from mobench.core.settings import choice, integer
from mobench.core.streams import Streams

from .classification import Classification, accuracy_metrics, chance_bounds, convolutions
from .task import Data, Rows
from .torchvision_data import read_or_explain

SETS = {"digits": (4, 3), "mnist": (8, 5), "fashion-mnist": (8, 5)}
"""By data set, how many pixels the second image is moved right and down, and the side of the network's kernels."""
PAIRS = {"digits": (4000, 1000, 1000), "mnist": (50_000, 10_000, 10_000), "fashion-mnist": (50_000, 10_000, 10_000)}
"""By data set, how many pairs are trained on, selected on and reported on."""
TASKS = ("left", "right")
DATA_SEED = 0
"""Images and pairs are the same for every seed of a run."""


@register
class TwoDigits(TaskProblem):
    """Recognise two images that are laid over each other, with one network.

    One image stands at the upper left and one at the lower right of a larger canvas, and where they overlap the
    brighter pixel counts. A convolutional trunk is shared, and each image has a classifier of its own. Methods combine
    the gradients of the trunk. The images behind the pairs to train on, to select on and to report on are different
    ones, and the pairs are the same for every seed.

    The 8×8 digits of scikit-learn need no download; MNIST and Fashion-MNIST are read by torchvision from `data.root`,
    and fetched there with `data.download`.
    """

    id = "two-digits@1"
    has_second_batch = True
    title = "Two overlaid digits"
    formulas = (
        Formula(
            r"L_i(\theta) = -\frac{1}{B} \sum_{b=1}^{B} \log\,p_{\theta, h_i}(y_{b,i} \mid x_b), "
            r"\quad i = \text{left, right}",
            "Cross-entropies over a batch of B pairs, with the trunk’s parameters θ and those of a head",
        ),
    )
    reference = Reference(
        "O. Sener and V. Koltun",
        "Multi-Task Learning as Multi-Objective Optimization",
        "NeurIPS",
        2018,
        "https://arxiv.org/abs/1810.04650",
    )

    dataset: str = choice("digits", tuple(SETS), meaning="where the images come from")
    batch_size: int = integer(64, low=1, meaning="pairs per step")

    def objectives(self) -> tuple[str, ...]:
        return TASKS

    def lower_bounds(self, seed: int) -> tuple[float, ...]:
        return (0.0, 0.0)

    def hypervolume_bounds(self) -> Bounds:
        return chance_bounds(10, 2)

    def metrics(self) -> tuple[Metric, ...]:
        return (*super().metrics(), *accuracy_metrics(TASKS))

    def steps_per_epoch(self) -> int:
        train = PAIRS[self.dataset][0]
        return train // min(self.batch_size, train)

    def prepare(self) -> None:
        self._data()

    def _data(self) -> Data:
        machine = resources()
        return overlaid(self.dataset, machine.data_root, machine.may_download)

    def start(self, streams: Streams) -> Task:
        _, kernel = SETS[self.dataset]
        data = self._data()
        size = data.train.inputs.shape[-1]

        def build() -> tuple[nn.Module, list[nn.Module]]:
            trunk = convolutions(1, size, kernel, (10, 20), 50)
            return trunk, [nn.Sequential(nn.Linear(50, 50), nn.Tanh(), nn.Linear(50, 10)) for _ in TASKS]

        return Classification(TASKS, build, data, self.batch_size, streams)


@cache
def overlaid(dataset: str, root: str, download: bool) -> Data:
    """Return the pairs of a data set."""
    images, labels, parts = _images(dataset, root, download)
    offset, _ = SETS[dataset]
    generator = Streams(DATA_SEED).torch("pairs")
    mean, std = float(images[parts[0]].float().mean()), float(images[parts[0]].float().std())
    found = []
    for part, count in zip(parts, PAIRS[dataset], strict=True):
        chosen = part[torch.randint(len(part), (2, count), generator=generator)]
        pixels = overlay(images[chosen[0]], images[chosen[1]], offset)
        found.append(Rows(((pixels.float() - mean) / std)[:, None], labels[chosen].T.contiguous()))
    return Data(*found)


def overlay(first: Tensor, second: Tensor, offset: int) -> Tensor:
    """Lay images (N×H×W) over each other, the second moved right and down; the brighter pixel counts."""
    count, height, width = first.shape
    canvas = torch.zeros(2, count, height + offset, width + offset, dtype=first.dtype)
    canvas[0, :, :height, :width] = first
    canvas[1, :, offset:, offset:] = second
    return canvas.amax(0)


def _images(dataset: str, root: str, download: bool) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Return images, labels, and which of them are trained on, selected on and reported on."""
    generator = Streams(DATA_SEED).torch("split")
    if dataset == "digits":
        from sklearn.datasets import load_digits

        raw = load_digits()
        images, labels = torch.from_numpy(raw.images).to(torch.uint8), torch.from_numpy(raw.target).long()
        order = torch.randperm(len(images), generator=generator)
        return images, labels, list(torch.split(order, [1077, 360, 360]))
    train, test = (_torchvision(dataset, root, download, train) for train in (True, False))
    order = torch.randperm(len(train.data), generator=generator)
    held_out = len(order) // 6
    images, labels = torch.cat([train.data, test.data]), torch.cat([train.targets, test.targets])
    return images, labels, [order[held_out:], order[:held_out], len(order) + torch.arange(len(test.data))]


def _torchvision(dataset: str, root: str, download: bool, train: bool) -> Any:
    from torchvision import datasets

    kind = datasets.MNIST if dataset == "mnist" else datasets.FashionMNIST
    folder = Path(root) / kind.__name__ / "raw"
    return read_or_explain(f"two-digits.dataset={dataset}", folder, partial(kind, root, train=train, download=download))
