"""`mobench run suite=compression` where torch sees a CUDA device and CIFAR is missing: it is fetched, or named."""

from __future__ import annotations

import io
import os
import pickle
import socket
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from mobench.core.resources import Resources
from mobench.planning import suite
from mobench.problems.compression import preparation
from mobench.problems.compression.data.archive import MIRROR, Archive, PublishedFile
from mobench.problems.compression.data.cifar import ARCHIVES
from tests.problems.compression.data.fake_cifar import Server, md5, serving
from tests.problems.compression.runs import mobench

PUBLISHED = ARCHIVES["cifar-10"]
FILES = ("data_batch_1", "test_batch")
IMAGES, HELD_OUT = 200, 40
SHORT = (
    "methods=ws",
    "seeds=1",
    "training.epochs=0",
    "training.steps=1",
    "methods.ws.weight=0.1",
    "methods.ws.form=convex",
)


@dataclass(frozen=True)
class Small:
    """An archive that unpacks to what CIFAR-10 unpacks to, with black images, and its description."""

    packed: bytes
    described: Archive


@pytest.fixture(scope="module")
def small() -> Small:
    labels = [number % 10 for number in range(IMAGES)]
    files = {
        name: pickle.dumps({"data": np.zeros((count, 3072), dtype=np.uint8), "labels": labels[:count]}, protocol=2)
        for name, count in zip(FILES, (IMAGES, 20), strict=True)
    }
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"{PUBLISHED.folder}/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    packed = buffer.getvalue()
    train, test = ((PublishedFile(name, md5(files[name])),) for name in FILES)
    archive = PublishedFile(PUBLISHED.packed.name, md5(packed))
    return Small(packed, replace(PUBLISHED, packed=archive, train=train, test=test))


@pytest.fixture
def server(small: Small) -> Iterator[Server]:
    with serving(small.packed) as running:
        yield running


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, small: Small) -> None:
    """Tell whoever picks a profile that there is a CUDA device; what is computed stays on the CPU."""
    monkeypatch.setattr(suite, "cuda_is_available", lambda: True)
    monkeypatch.setattr(Resources, "torch_device", property(lambda self: "cpu"))
    monkeypatch.setitem(ARCHIVES, "cifar-10", small.described)
    monkeypatch.setattr("mobench.problems.compression.data.cifar.HELD_OUT", HELD_OUT)
    preparation._training_images.cache_clear()


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing answers where CIFAR is looked for."""
    monkeypatch.setattr("mobench.problems.compression.data.download.time.sleep", lambda seconds: None)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv(MIRROR, f"http://127.0.0.1:{unused.getsockname()[1]}")
        yield


def run(folder: Path, *more: str, code: int = 0) -> str:
    places = (f"data.root={folder / 'data'}", f"results={folder / 'results'}")
    return mobench("run", "suite=compression", *SHORT, *places, "jobs=0", "--quiet", *more, code=code)


@pytest.mark.usefixtures("cuda")
def test_cifar_is_fetched_and_trained_on(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch, small: Small
) -> None:
    monkeypatch.setenv(MIRROR, server.base)
    server.cuts = [1_000]
    told = run(tmp_path)
    assert "picked profile=cifar-small (a CUDA device is here)" in told
    assert server.ranges == [None, "bytes=1000-"], "a broken download goes on where it broke"
    assert (tmp_path / "data" / PUBLISHED.packed.name).read_bytes() == small.packed
    assert [path.name.partition(".")[2] for path in (tmp_path / "results" / "manifests").iterdir()] == [
        "cifar-small.json"
    ]


@pytest.mark.usefixtures("cuda", "closed")
def test_without_a_network_one_line_says_what_can_be_done(tmp_path: Path) -> None:
    *_, line = run(tmp_path, code=2).splitlines()
    assert line.startswith("mobench: compression, profile=cifar-small: cannot download")
    assert "may be offline" in line and f"unpack {PUBLISHED.packed.name} into data.root by hand" in line
    assert line.endswith("data.root=DIR names a folder that has the data; profile=digits device=cpu needs none")
    assert not (tmp_path / "results").exists()


@pytest.mark.usefixtures("cuda")
def test_a_corrupt_download_is_set_aside(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch, small: Small
) -> None:
    monkeypatch.setenv(MIRROR, server.base)
    server.content = b"x" + small.packed[1:]
    told = run(tmp_path, code=2)
    assert "is corrupt: its md5 checksum is" in told and "profile=digits device=cpu" in told
    assert (tmp_path / "data" / f"{PUBLISHED.packed.name}.corrupt").exists()


@pytest.mark.usefixtures("cuda")
def test_downloads_can_be_forbidden(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MIRROR, server.base)
    told = run(tmp_path, "data.download=false", code=2)
    assert "CIFAR10 is not complete" in told and "profile=digits device=cpu" in told
    assert server.ranges == [] and not (tmp_path / "data").exists()


@pytest.mark.usefixtures("cuda", "closed")
def test_a_profile_that_was_asked_for_is_not_replaced(tmp_path: Path) -> None:
    told = run(tmp_path, "profile=cifar-small", code=2)
    assert "cannot download" in told and "profile=digits" not in told
    assert not (tmp_path / "results").exists()


def test_in_a_process_of_its_own_the_device_that_is_asked_for_decides(tmp_path: Path) -> None:
    """As a user starts it: only what torch says of CUDA is changed."""
    (tmp_path / "sitecustomize.py").write_text("import torch\ntorch.cuda.is_available = lambda: True\n")
    search = os.pathsep.join([str(tmp_path), *(part for part in [os.environ.get("PYTHONPATH")] if part)])
    command = [sys.executable, "-m", "mobench", "run", "suite=compression", *SHORT, "--dry-run", "device=cpu"]
    environment = {**os.environ, "PYTHONPATH": search}
    told = subprocess.run(command, cwd=tmp_path, env=environment, text=True, capture_output=True, timeout=120)
    assert "picked profile=digits (device=cpu)" in told.stdout, told.stderr
