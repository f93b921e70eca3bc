"""The training stream: whole epochs, aligned labels, seeded draws and bit-identical resumption."""

from __future__ import annotations

import pytest
import torch

from mobench.errors import UserError
from mobench.problems.compression.data.augment import Augmentation
from mobench.problems.compression.data.images import Batch, Images
from mobench.problems.compression.data.stream import TrainStream

COUNT, BATCH = 23, 5


def numbered() -> Images:
    """Images whose pixels and label all say their number, so that a batch shows what it holds."""
    labels = torch.arange(COUNT)
    pixels = (labels + 1).to(torch.uint8).view(-1, 1, 1, 1).expand(COUNT, 3, 12, 12).contiguous()
    return Images(pixels, labels, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0))


def stream(seed: int = 0, augment: bool = True) -> TrainStream:
    return TrainStream(numbered(), BATCH, augment, torch.Generator().manual_seed(seed))


def take(source: TrainStream, count: int) -> list[Batch]:
    return [source.next_batch() for _ in range(count)]


def same(one: list[Batch], two: list[Batch]) -> bool:
    return all(torch.equal(a[0], b[0]) and torch.equal(a[1], b[1]) for a, b in zip(one, two, strict=True))


def test_an_epoch_shows_images_once_and_drops_the_partial_batch() -> None:
    source = stream()
    assert source.batches_per_epoch == 4
    epochs = [torch.cat([labels for _, labels in take(source, 4)]).tolist() for _ in range(3)]
    assert all(len(set(epoch)) == len(epoch) == 20 for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]
    assert len({label for epoch in epochs for label in epoch}) == COUNT


def test_labels_belong_to_their_images() -> None:
    for augment in (False, True):
        for images, labels in take(stream(augment=augment), 8):
            assert images.shape == (BATCH, 3, 12, 12)
            assert images.dtype == torch.float32
            # The crop may add black pixels, but the largest one still tells the image's number.
            assert torch.equal(images.amax(dim=(1, 2, 3)), labels + 1.0)


def test_without_augmentation_images_are_whole() -> None:
    for images, labels in take(stream(augment=False), 4):
        assert torch.equal(images, (labels + 1.0).view(-1, 1, 1, 1).expand_as(images))


def test_padding_is_black_before_normalisation() -> None:
    sevens = torch.full((BATCH, 1, 4, 4), 7, dtype=torch.uint8)
    images = Images(sevens, torch.zeros(BATCH), mean=(2.0,), std=(4.0,))
    source = TrainStream(images, BATCH, True, torch.Generator().manual_seed(0))
    values = {value for batch, _ in take(source, 20) for value in batch.flatten().tolist()}
    assert values == {(0 - 2) / 4, (7 - 2) / 4}


def test_each_image_gets_its_own_draw() -> None:
    """A batch is what applying the epoch's draws to its images one by one gives."""
    source = stream(seed=3)
    generator = torch.Generator().manual_seed(3)
    order = torch.randperm(COUNT, generator=generator)
    draws = Augmentation.draw(20, generator, torch.device("cpu"))
    pixels = torch.randint(256, (COUNT, 3, 12, 12), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    source.images.pixels.copy_(pixels)
    got = torch.cat([images for images, _ in take(source, 4)])
    for place in range(20):
        alone = draws[place : place + 1].apply(pixels[order[place : place + 1]])
        assert torch.equal(got[place : place + 1], alone.float())


def test_the_seed_decides_everything() -> None:
    torch.manual_seed(1)
    first = take(stream(seed=7), 9)
    torch.manual_seed(2)
    before = torch.random.get_rng_state()
    assert same(first, take(stream(seed=7), 9))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert not same(first, take(stream(seed=8), 9))


@pytest.mark.parametrize("taken", [0, 1, 4, 5, 11])
def test_a_restored_stream_goes_on_bit_for_bit(taken: int) -> None:
    source = stream(seed=7)
    take(source, taken)
    state = source.state_dict()
    expected = take(source, 9)
    other = stream(seed=99)
    take(other, 3)
    other.load_state_dict(state)
    assert (other.epoch, other.position) == (state["epoch"], state["position"])
    assert same(expected, take(other, 9))
    assert (other.epoch, other.position) == (source.epoch, source.position)


def test_epoch_and_position_count_what_was_taken() -> None:
    source = stream()
    seen = []
    for _ in range(6):
        source.next_batch()
        seen.append((source.epoch, source.position))
    assert seen == [(0, 1), (0, 2), (0, 3), (0, 4), (1, 1), (1, 2)]


@pytest.mark.parametrize("size", [0, COUNT + 1])
def test_a_batch_must_fit_the_training_set(size: int) -> None:
    with pytest.raises(UserError, match=rf"batch_size={size} is not accepted.*up to {COUNT}"):
        TrainStream(numbered(), size, False, torch.Generator())
