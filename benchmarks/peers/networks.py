"""The networks before any training, beside the published figures; and removed filters beside masked ones.

FLOPs and file sizes are those of the paper's dense models on CIFAR-10, filter groups those of its
penalised sets. Masked and removed networks must be the same function: the distance is the largest
over the outputs for random images, relative to the largest output, with 90 % of the parameters gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn

from benchmarks.peers.row import Asked, Row
from mobench.problems.compression import networks
from mobench.problems.compression.networks.cost import file_size, flops
from mobench.problems.compression.pruning import Planner, mask, remove, trace

PART = "networks"
COMMAND = "make peers only=networks"
PUBLISHED = {
    "resnet-34": (2.33, 81.3, 7616),
    "densenet-121": (1.82, 27.2, 10176),
    "inception": (0.53, 5.4, 1984),
    "mobilenet-v2": (0.19, 8.8, 9920),
}
"""GFLOPs, mebibytes and filter groups for ten classes."""
MEBIBYTE = 2**20
TARGET = 0.9


@dataclass(frozen=True)
class Size:
    """Which networks are looked at."""

    names: tuple[str, ...] = tuple(PUBLISHED)


SIZES = {"quick": Size(), "default": Size(), "all": Size()}


def rows(size: Size) -> Iterator[Row]:
    """Yield the relative distances to the published figures and between masked and removed networks."""
    for name in size.names:
        giga, mebibytes, groups = PUBLISHED[name]
        model = networks.build(name, 10, torch.Generator().manual_seed(0))
        off = abs(flops(model, networks.input_shape(name)) / 1e9 / giga - 1.0)
        yield Row(PART, f"{name}: FLOPs to the published", off, "", COMMAND, Asked("≤", 0.02))
        off = abs(file_size(model) / MEBIBYTE / mebibytes - 1.0)
        yield Row(PART, f"{name}: file size to the published", off, "", COMMAND, Asked("≤", 0.02))
        counted = sum(len(weight) for _, weight in networks.penalised(model))
        yield Row(PART, f"{name}: groups off the published", float(abs(counted - groups)), "", COMMAND, Asked("≤", 0))
        yield Row(PART, f"{name}: masked to removed", masked_to_removed(name, model), "", COMMAND, Asked("≤", 1e-6))


@torch.no_grad()
def masked_to_removed(name: str, model: nn.Module) -> float:
    """Return how far the outputs of the masked and of the removed network lie apart."""
    images = torch.randn(2, *networks.input_shape(name), generator=torch.Generator().manual_seed(1))
    model.train()(images)  # so that the running statistics of batch normalisation are not those of nothing
    structure = trace(model.eval(), [weight for weight, _ in networks.penalised(model)], images[:1])
    plan = Planner(model, structure).plan(TARGET)
    masked, removed = (cut(model, structure, plan).eval()(images) for cut in (mask, remove))
    return float((masked - removed).abs().max() / masked.abs().max())
