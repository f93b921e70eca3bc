"""Data and evaluation on a CUDA device that is not there: shapes and devices alone, and mixing devices raises."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from mobench.problems.compression.data.images import Images
from mobench.problems.compression.data.stream import TrainStream
from mobench.problems.compression.evaluation import hits, hits_and_losses
from mobench.problems.compression.networks.architectures import resnet_narrow

COUNT, BATCH = 600, 32


@pytest.fixture(autouse=True)
def fake() -> Iterator[None]:
    with FakeTensorMode():
        yield


def images(device: str = "cuda") -> Images:
    pixels = torch.zeros(COUNT, 3, 32, 32, dtype=torch.uint8, device=device)
    labels = torch.zeros(COUNT, dtype=torch.int64, device=device)
    return Images(pixels, labels, (125.0, 123.0, 114.0), (63.0, 62.0, 67.0))


def model(device: str = "cuda") -> nn.Module:
    with torch.device(device):
        return resnet_narrow.network(10)


@pytest.mark.parametrize("augment", [True, False])
def test_training_batches_are_cropped_flipped_and_normalised_on_the_device(augment: bool) -> None:
    stream = TrainStream(images(), BATCH, augment, torch.Generator())
    for _ in range(stream.batches_per_epoch + 1):  # the next epoch is drawn too
        batch, labels = stream.next_batch()
        assert (batch.device.type, batch.dtype, batch.shape) == ("cuda", torch.float32, (BATCH, 3, 32, 32))
        assert (labels.device.type, labels.shape) == ("cuda", (BATCH,))
    assert stream.images.pixels.dtype == torch.uint8, "resident as bytes"


def test_images_move_as_a_whole() -> None:
    moved = images("cpu").to("cuda")
    assert moved.pixels.device.type == moved.labels.device.type == "cuda"
    assert moved.take(torch.arange(3, device="cuda")).pixels.device.type == "cuda"
    assert {batch.device.type for batch, _ in moved.batches(256)} == {"cuda"}


def test_evaluation_stays_on_the_device_until_its_numbers_are_read_in_one_go() -> None:
    network = model()
    for measured, shape in (
        (hits(network, images()), (3,)),
        *((each, (1, 3)) for each in hits_and_losses([network], images())),
    ):
        assert (measured.device.type, measured.shape) == ("cuda", shape), "a number for each batch of 256"


def test_devices_are_never_mixed_unnoticed() -> None:
    with pytest.raises(RuntimeError, match="device"):
        hits(model("cpu"), images())
    with pytest.raises(RuntimeError, match="device"):
        hits_and_losses([model()], images("cpu"))
    mixed = Images(images().pixels, images("cpu").labels, (1.0,) * 3, (1.0,) * 3)
    with pytest.raises(RuntimeError, match="device"):
        TrainStream(mixed, BATCH, True, torch.Generator()).next_batch()
