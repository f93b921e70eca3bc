"""What can be wrong with a run's data, found out before any run starts."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from mobench.core.resources import resources
from mobench.errors import UserError

from . import data, networks
from .data.stream import check_batch_size

if TYPE_CHECKING:
    from .problem import Compression

Shape = tuple[int, int, int]


def check_data(problem: Compression) -> None:
    """Read the images once, which downloads and verifies them, and see whether network and batches fit them."""
    machine = resources()
    made_up = data.MADE_UP_BATCHES * problem.batch_size if machine.rehearsal else 0
    shape, images = _training_images(problem.dataset, machine.data_root, machine.may_download, problem.holdout, made_up)
    if networks.input_shape(problem.network) != shape:
        fitting = [name for name in networks.names() if networks.input_shape(name) == shape]
        raise UserError(
            f"compression.network={problem.network} takes images of {_spell(networks.input_shape(problem.network))}; "
            f"those of dataset={problem.dataset} are {_spell(shape)}. Networks for them: {', '.join(fitting)}"
        )
    check_batch_size(problem.batch_size, images)


@cache
def _training_images(dataset: str, root: str, download: bool, holdout: bool, made_up: int) -> tuple[Shape, int]:
    """Return the shape and the number of the training images; a sweep's problems share one reading."""
    train = data.load(dataset, root, download=download, holdout=holdout, made_up=made_up).train
    channels, height, width = train.pixels.shape[1:]
    return (channels, height, width), len(train)


def _spell(shape: Shape) -> str:
    return "×".join(map(str, shape))
