"""CIFAR's files: read, checked, split, and brought in whole from an archive."""

from __future__ import annotations

import pickle
import tarfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torchvision import datasets

from mobench.errors import UserError
from mobench.problems.compression.data import cifar, load
from mobench.problems.compression.data.archive import MIRROR, PublishedFile
from mobench.problems.compression.data.cifar import ARCHIVES, load_cifar
from tests.problems.compression.data.fake_cifar import CLASSES, FOLDER, PACKED, PER_FILE, Fake, make_fake, md5, serving

HELD_OUT = 20


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    monkeypatch.setattr(cifar, "HELD_OUT", HELD_OUT)
    monkeypatch.delenv(MIRROR, raising=False)
    return make_fake()


def raw(content: bytes) -> tuple[np.ndarray, list[int]]:
    decoded = pickle.loads(content)
    return decoded["data"].reshape(-1, 3, 32, 32), decoded["labels"]


@pytest.mark.parametrize(("name", "theirs"), [("cifar-10", datasets.CIFAR10), ("cifar-100", datasets.CIFAR100)])
def test_the_descriptions_are_torchvisions(name: str, theirs: type[datasets.CIFAR10]) -> None:
    ours = ARCHIVES[name]
    assert (ours.title, ours.url, ours.folder) == (theirs.__name__, theirs.url, theirs.base_folder)
    assert ours.packed == PublishedFile(theirs.filename, theirs.tgz_md5)
    for files, listed in ((ours.train, theirs.train_list), (ours.test, theirs.test_list)):
        assert files == tuple(PublishedFile(*each) for each in listed)


def test_images_and_labels_come_in_the_files_order(fake: Fake, tmp_path: Path) -> None:
    fake.place(tmp_path)
    splits = load_cifar(fake.archive, tmp_path, holdout=False)
    first, second, test = (raw(fake.files[name]) for name in ("train_1", "train_2", "test"))
    assert np.array_equal(splits.train.pixels.numpy(), np.concatenate([first[0], second[0]]))
    assert splits.train.labels.tolist() == first[1] + second[1]
    assert np.array_equal(splits.test.pixels.numpy(), test[0])
    assert splits.test.labels.tolist() == test[1]
    assert splits.val is None
    assert splits.classes == CLASSES
    assert splits.augment


def test_the_fine_labels_of_cifar_100_are_read(tmp_path: Path) -> None:
    fake = make_fake("fine_labels")
    fake.place(tmp_path)
    splits = load_cifar(fake.archive, tmp_path, holdout=False)
    assert splits.test.labels.tolist() == pickle.loads(fake.files["test"])["fine_labels"]


def test_the_held_out_images_leave_the_training_set(fake: Fake, tmp_path: Path) -> None:
    fake.place(tmp_path)
    whole, splits = (load_cifar(fake.archive, tmp_path, holdout=holdout) for holdout in (False, True))
    assert splits.val is not None
    assert torch.bincount(splits.val.labels).tolist() == [HELD_OUT // CLASSES] * CLASSES

    def identified(images: torch.Tensor) -> set[bytes]:
        return {image.numpy().tobytes() for image in images}

    train, val = identified(splits.train.pixels), identified(splits.val.pixels)
    assert (len(train), len(val)) == (2 * PER_FILE - HELD_OUT, HELD_OUT)
    assert train | val == identified(whole.train.pixels)


def test_normalisation_is_torchvisions_with_the_usual_statistics(fake: Fake, tmp_path: Path) -> None:
    from torchvision.transforms import functional

    fake.place(tmp_path)
    test = load_cifar(fake.archive, tmp_path).test
    images, labels = next(test.batches(PER_FILE))
    expected = functional.normalize(test.pixels / 255.0, [0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616])
    torch.testing.assert_close(images, expected, rtol=1e-5, atol=1e-5)
    assert torch.equal(labels, test.labels)


def test_a_corrupt_file_is_named_with_both_checksums_and_left_alone(fake: Fake, tmp_path: Path) -> None:
    victim = fake.place(tmp_path) / "train_2"
    damaged = bytearray(victim.read_bytes())
    damaged[1_000] ^= 1
    victim.write_bytes(damaged)
    for download in (False, True):
        with pytest.raises(UserError) as caught:
            load_cifar(fake.archive, tmp_path, download=download)
        message = str(caught.value)
        assert str(victim) in message
        assert fake.archive.train[1].md5 in message
        assert md5(bytes(damaged)) in message
    assert victim.read_bytes() == damaged
    assert {path.name for path in victim.parent.iterdir()} == set(fake.files)


def test_missing_files_say_how_to_get_them(fake: Fake, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        load_cifar(fake.archive, tmp_path / "nowhere")
    for part in (f"data.root={tmp_path / 'nowhere'}", "train_1 and 2 more", "data.download=true", MIRROR, PACKED):
        assert part in str(caught.value)
    assert not (tmp_path / "nowhere").exists()


def test_the_public_loader_asks_for_cifar_10(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"CIFAR10 is not complete in data\.root=.*data_batch_1"):
        load("cifar-10", tmp_path)


def test_an_unknown_data_set_names_the_nearest() -> None:
    with pytest.raises(UserError, match=r"unknown data set 'cifar10'.*Did you mean 'cifar-10'"):
        load("cifar10")


def test_a_mirror_brings_the_whole_data_set(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "new"
    with serving(fake.packed) as server:
        monkeypatch.setenv(MIRROR, server.base + "/")
        load_cifar(fake.archive, root, download=True)
        load_cifar(fake.archive, root, download=True)
        assert len(server.ranges) == 1
    visible = {path.name for path in root.iterdir() if not path.name.startswith(".")}
    assert visible == {FOLDER, PACKED}
    assert not (root / f".{FOLDER}.unpacking").exists()
    assert (root / FOLDER / "train_1").read_bytes() == fake.files["train_1"]


def test_processes_that_need_it_together_fetch_it_once(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(fake.packed) as server, ThreadPoolExecutor(4) as pool:
        monkeypatch.setenv(MIRROR, server.base)
        loaded = list(pool.map(lambda _: load_cifar(fake.archive, tmp_path, download=True), range(4)))
        assert len(server.ranges) == 1
    assert all(torch.equal(loaded[0].train.pixels, other.train.pixels) for other in loaded)


def test_an_interrupted_unpacking_is_finished_from_the_kept_archive(fake: Fake, tmp_path: Path) -> None:
    (tmp_path / PACKED).write_bytes(fake.packed)
    half = tmp_path / f".{FOLDER}.unpacking" / FOLDER
    half.mkdir(parents=True)
    (half / "train_1").write_bytes(b"half")
    kept = tmp_path / FOLDER
    kept.mkdir()
    (kept / "readme.html").write_bytes(b"mine")
    splits = load_cifar(fake.archive, tmp_path, download=True)
    assert len(splits.test) == PER_FILE
    assert (kept / "readme.html").read_bytes() == b"mine"
    assert not half.parent.exists()


def test_a_corrupt_archive_is_refused_and_left_alone(fake: Fake, tmp_path: Path) -> None:
    (tmp_path / PACKED).write_bytes(b"not an archive")
    with pytest.raises(UserError, match=f"{PACKED} is corrupt.*expected {fake.archive.packed.md5}"):
        load_cifar(fake.archive, tmp_path, download=True)
    assert (tmp_path / PACKED).read_bytes() == b"not an archive"
    assert not (tmp_path / FOLDER).exists()


def test_an_archive_without_a_needed_file_is_refused(fake: Fake, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / PACKED, "w:gz") as tar:
        fake.place(tmp_path / "source")
        tar.add(tmp_path / "source" / FOLDER / "test", f"{FOLDER}/test")
    archive = replace(fake.archive, packed=PublishedFile(PACKED, md5((tmp_path / PACKED).read_bytes())))
    with pytest.raises(UserError, match=f"{PACKED} does not contain {FOLDER}/train_1"):
        load_cifar(archive, tmp_path, download=True)


def test_offline_names_the_mirror_variable(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mobench.problems.compression.data.download.TRIES", 1)
    with pytest.raises(UserError, match=f"may be offline.*{MIRROR}.*by hand"):
        load_cifar(fake.archive, tmp_path, download=True)


def test_a_mirror_must_be_a_url(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MIRROR, "mirror.example")
    with pytest.raises(UserError, match=f"{MIRROR}=mirror.example is not accepted.*http"):
        load_cifar(fake.archive, tmp_path, download=True)


def test_a_root_that_cannot_be_written_is_named(fake: Fake, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    root = tmp_path / "file" / "root"
    with pytest.raises(UserError, match=f"data.root={root} cannot be written"):
        load_cifar(fake.archive, root, download=True)
