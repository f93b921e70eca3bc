"""Batched crop and flip against torchvision's, one image at a time."""

from __future__ import annotations

import torch
from torchvision.transforms import functional

from mobench.problems.compression.data.augment import PADDING, Augmentation, cropped, mirrored


def random_pixels(count: int, channels: int = 3, height: int = 32, width: int = 32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(256, (count, channels, height, width), generator=generator, dtype=torch.uint8)


def test_every_crop_is_torchvisions() -> None:
    places = torch.cartesian_prod(torch.arange(2 * PADDING + 1), torch.arange(2 * PADDING + 1))
    pixels = random_pixels(len(places))
    result = cropped(pixels, places[:, 0], places[:, 1])
    for image, (row, column), got in zip(pixels, places.tolist(), result, strict=True):
        assert torch.equal(got, functional.crop(functional.pad(image, [PADDING]), row, column, 32, 32))


def test_images_that_are_not_square_are_cropped_too() -> None:
    pixels = random_pixels(3, channels=2, height=5, width=9)
    rows, columns = torch.tensor([0, 4, 8]), torch.tensor([8, 4, 0])
    result = cropped(pixels, rows, columns)
    for image, row, column, got in zip(pixels, rows.tolist(), columns.tolist(), result, strict=True):
        assert torch.equal(got, functional.crop(functional.pad(image, [PADDING]), row, column, 5, 9))


def test_only_the_chosen_images_are_mirrored() -> None:
    pixels = random_pixels(4)
    result = mirrored(pixels, torch.tensor([1, 0, 0, 1]))
    assert torch.equal(result[0], functional.hflip(pixels[0]))
    assert torch.equal(result[1:3], pixels[1:3])
    assert torch.equal(result[3], functional.hflip(pixels[3]))


def test_the_crop_comes_before_the_mirror_and_the_source_stays() -> None:
    pixels = random_pixels(2)
    before = pixels.clone()
    augmentation = Augmentation(torch.tensor([0, 1]), torch.tensor([2, 3]), torch.tensor([1, 1]))
    result = augmentation.apply(pixels)
    expected = functional.hflip(functional.crop(functional.pad(pixels[1], [PADDING]), 1, 3, 32, 32))
    assert torch.equal(result[1], expected)
    assert torch.equal(pixels, before)


def test_draws_are_uniform_and_independent() -> None:
    count = 81_000
    drawn = Augmentation.draw(count, torch.Generator().manual_seed(0), torch.device("cpu"))
    cells = torch.bincount((drawn.rows * 9 + drawn.columns) * 2 + drawn.flips, minlength=162).double()
    assert len(cells) == 162
    chi_squared = ((cells - count / 162) ** 2 / (count / 162)).sum().item()
    assert 161 - 5 * (2 * 161) ** 0.5 < chi_squared < 161 + 5 * (2 * 161) ** 0.5
