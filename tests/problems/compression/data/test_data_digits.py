"""The digits: the bundled images, split 60/20/20 and normalised by the training part."""

from __future__ import annotations

import pytest
import torch
from sklearn import datasets

from mobench.problems.compression.data import load


def identified(pixels: torch.Tensor, labels: torch.Tensor) -> list[tuple[bytes, int]]:
    return sorted((image.numpy().tobytes(), int(label)) for image, label in zip(pixels, labels, strict=True))


def test_the_parts_make_up_the_bundled_images() -> None:
    splits = load("digits")
    assert splits.val is not None
    parts = (splits.train, splits.val, splits.test)
    assert [len(part) for part in parts] == [1_077, 360, 360]
    raw = datasets.load_digits()
    expected = identified(torch.tensor(raw.images, dtype=torch.uint8).unsqueeze(1), torch.tensor(raw.target))
    together = identified(torch.cat([part.pixels for part in parts]), torch.cat([part.labels for part in parts]))
    assert together == expected


def test_each_part_holds_every_class_in_proportion() -> None:
    splits = load("digits")
    assert splits.val is not None
    everything = torch.bincount(torch.tensor(datasets.load_digits().target)).double()
    for part in (splits.val, splits.test):
        assert ((torch.bincount(part.labels) - 360 / 1_797 * everything).abs() <= 2).all()


def test_without_holdout_the_validation_images_are_trained_on() -> None:
    held, whole = load("digits"), load("digits", holdout=False)
    assert held.val is not None
    assert whole.val is None
    assert identified(whole.train.pixels, whole.train.labels) == sorted(
        identified(held.train.pixels, held.train.labels) + identified(held.val.pixels, held.val.labels)
    )
    assert torch.equal(whole.test.pixels, held.test.pixels)


def test_training_images_are_standardised() -> None:
    splits = load("digits")
    images, _ = next(splits.train.batches(len(splits.train)))
    assert images.dtype == torch.float32
    assert images.shape == (1_077, 1, 8, 8)
    assert images.mean().item() == pytest.approx(0.0, abs=1e-5)
    assert images.std(correction=0).item() == pytest.approx(1.0, abs=1e-5)


def test_evaluation_batches_cover_everything_in_order() -> None:
    test = load("digits").test
    sizes, labels = zip(*((len(images), labels) for images, labels in test.batches(100)), strict=True)
    assert sizes == (100, 100, 100, 60)
    assert torch.equal(torch.cat(labels), test.labels)


def test_digits_are_not_mirrored() -> None:
    assert not load("digits").augment
