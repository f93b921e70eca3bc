"""Bring a published data set into a folder: download, check, unpack, each step whole or not at all."""

from __future__ import annotations

import shutil
import sys
import tarfile
from pathlib import Path

from filelock import FileLock

from mobench.errors import MissingDataError, UserError

from .archive import MIRROR, Archive, check, checksum
from .download import download


def require(archive: Archive, root: Path, *, download: bool) -> None:
    """Make sure that the data set's files are under `root`, or say how to get them there."""
    missing = archive.missing(root)
    if not missing:
        return
    if not download:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise MissingDataError(
            f"{archive.title} is not complete in data.root={root}: no {missing[0]}{more}. "
            f"data.download=true fetches it from {archive.url} (or from a mirror, whose base URL goes into the "
            f"environment variable {MIRROR}), or {_by_hand(archive)}"
        )
    try:
        root.mkdir(parents=True, exist_ok=True)
        with FileLock(root / f".{archive.packed.name}.lock"):
            if archive.missing(root):  # another process may have brought them while we waited
                _bring(archive, root)
    except OSError as error:
        raise MissingDataError(f"data.root={root} cannot be written: {error}. Choose another data.root") from error
    still_missing = archive.missing(root)
    if still_missing:
        raise MissingDataError(f"{archive.packed.name} does not contain {still_missing[0]}")


def _bring(archive: Archive, root: Path) -> None:
    packed = root / archive.packed.name
    if packed.exists():
        check(packed, archive.packed.md5, checksum(packed))
    else:
        source = archive.source()
        told = f"fetching {archive.title} from {source} into data.root={root} (data.download=false forbids it)"
        print(told, file=sys.stderr, flush=True)
        try:
            download(source, packed, archive.packed.md5)
        except UserError as error:
            raise MissingDataError(
                f"{error}. Try again; set the environment variable {MIRROR} to the base URL of a mirror; "
                f"or {_by_hand(archive)}"
            ) from error
    unpack(packed, root, archive.folder)


def unpack(packed: Path, root: Path, folder: str) -> None:
    """Unpack `folder` from an archive so that each file appears whole; files already there stay.

    The caller holds the lock of `root`: what an interrupted call left half-unpacked is cleared.
    """
    workshop = root / f".{folder}.unpacking"
    if workshop.exists():
        shutil.rmtree(workshop)
    with tarfile.open(packed) as tar:
        tar.extractall(workshop, filter="data")
    target = root / folder
    if target.exists():
        for file in (workshop / folder).iterdir():
            if not (target / file.name).exists():
                file.replace(target / file.name)
    else:
        (workshop / folder).replace(target)
    shutil.rmtree(workshop)


def _by_hand(archive: Archive) -> str:
    return f"unpack {archive.packed.name} into data.root by hand"
