"""A published data set: an archive, the files in it, and their checksums."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from mobench.errors import UserError

MIRROR = "MOBENCH_CIFAR_MIRROR"
"""Environment variable: base URL to download archives from instead of their own."""


@dataclass(frozen=True)
class PublishedFile:
    """A file's name and the md5 checksum it was published with."""

    name: str
    md5: str


@dataclass(frozen=True)
class Archive:
    """Where a data set's archive is found and what it unpacks to."""

    title: str
    url: str
    packed: PublishedFile
    """The archive itself."""
    folder: str
    """The folder it unpacks to."""
    train: tuple[PublishedFile, ...]
    test: tuple[PublishedFile, ...]

    def missing(self, root: Path) -> list[str]:
        """Return the needed files that are not under `root`, relative to it."""
        needed = [Path(self.folder) / file.name for file in (*self.train, *self.test)]
        return [str(path) for path in needed if not (root / path).is_file()]

    def source(self) -> str:
        """Return the URL to download from: the published one, or the mirror's."""
        mirror = os.environ.get(MIRROR, "")
        if not mirror:
            return self.url
        if not mirror.startswith(("http://", "https://")):
            raise UserError(
                f"{MIRROR}={mirror} is not accepted; {MIRROR} takes a URL that starts with http:// or https://"
            )
        return f"{mirror.rstrip('/')}/{self.packed.name}"


def verified(path: Path, md5: str) -> bytes:
    """Return the content of `path`, or refuse it if its checksum is not the published one."""
    content = path.read_bytes()
    check(path, md5, hashlib.md5(content, usedforsecurity=False).hexdigest())
    return content


def checksum(path: Path) -> str:
    """Return the md5 checksum of a file of any size."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def check(path: Path, expected: str, found: str) -> None:
    """Raise `UserError` if two checksums differ; the file is left as it is."""
    if found != expected:
        raise UserError(
            f"{path} is corrupt: its md5 checksum is {found}, expected {expected}. "
            "The file was left as it is; move it away and set data.download=true to fetch it again"
        )
