"""Files that are whole or absent, at every instant."""

from __future__ import annotations

import errno
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mobench.core.process_name import is_of_dead_process, process_name

TEMPORARY = ".tmp"
STALE_SECONDS = 3600.0
"""A temporary file lives for milliseconds; one this old was left behind by a killed process."""
NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}
"""What `link` reports where it cannot link: no such feature, or too many links to one file."""


def write_atomically(path: Path, content: bytes, *, sync: bool) -> None:
    """Replace `path` by a file with `content`.

    The content goes to a hidden file of its own in the same folder, which is then renamed, so a
    killed process leaves the old file or the new one. With `sync` the same holds for a power cut.
    """
    with _temporary(path, content, sync=sync) as temporary:
        temporary.replace(path)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Provide a file to write that takes the place of `path` when it is whole; what is no file is written directly."""
    if path.exists() and not path.is_file():
        yield path
        return
    path = path.resolve()
    temporary = path.with_name(f".{process_name()}.{secrets.token_hex(4)}.{path.name}")  # formats follow the ending
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_once(path: Path, content: bytes, *, sync: bool) -> bool:
    """Write `path` unless it exists; False if it does. Of several processes exactly one succeeds."""
    with _temporary(path, content, sync=sync) as temporary:
        return rename_once(temporary, path)


def rename_once(old: Path, new: Path) -> bool:
    """Rename a file unless the new name exists; False if it does, and then `old` is removed."""
    try:
        os.link(old, new)
    except FileExistsError:
        written = new.exists() and new.samefile(old)  # a repeated network request finds its own link
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        if not new.exists():
            old.rename(new)
            return True
        written = False
    else:
        written = True
    old.unlink(missing_ok=True)
    return written


def refresh(folder: Path) -> None:
    """Make an NFS client forget which names it believes to be absent in `folder`: opening it asks the server."""
    with suppress(FileNotFoundError):
        os.close(os.open(folder, os.O_RDONLY))


@contextmanager
def _temporary(path: Path, content: bytes, *, sync: bool) -> Iterator[Path]:
    """Provide a hidden file with `content` beside `path`; it is gone afterwards."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{process_name()}.{secrets.token_hex(4)}{TEMPORARY}")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def remove_stale(files: Iterator[Path]) -> None:
    """Delete those of the given files whose writer is dead, or that have not been written to for `STALE_SECONDS`."""
    oldest = time.time() - STALE_SECONDS
    for file in files:
        try:
            if is_of_dead_process(file.name) or file.stat().st_mtime < oldest:
                file.unlink()
        except FileNotFoundError:  # another process cleans up as well
            continue
