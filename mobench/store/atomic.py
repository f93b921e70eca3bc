"""Files that are whole or absent, at every instant."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

TEMPORARY = ".tmp"
STALE_SECONDS = 3600.0
"""A temporary file lives for milliseconds; one this old was left behind by a killed process."""


def write_atomically(path: Path, content: bytes, *, sync: bool) -> None:
    """Replace `path` by a file with `content`.

    The content goes to a hidden file of its own in the same folder, which is then renamed, so a
    killed process leaves the old file or the new one. With `sync` the same holds for a power cut.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}{TEMPORARY}")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def remove_stale(files: Iterator[Path]) -> None:
    """Delete those of the given files that have not been written to for `STALE_SECONDS`."""
    oldest = time.time() - STALE_SECONDS
    for file in files:
        try:
            if file.stat().st_mtime < oldest:
                file.unlink()
        except FileNotFoundError:  # another process cleans up as well
            continue
