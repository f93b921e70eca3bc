"""Where a site is written: beside its place, under another name, until it is whole."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mobench.errors import UserError

MARKER = "mobench-site.json"
"""The file by which a folder is known to be a site of ours, which may be replaced."""


class SiteFolder:
    """The folder in which a site is being made."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, name: str, content: bytes | str) -> None:
        """Write one file; its name is a path inside the site."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def check_place(out: Path) -> None:
    """Refuse a place that holds something else than a site of ours: it would be lost."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise UserError(f"out={out} is not a folder; name a folder that does not exist yet, or an older site")
    if out.is_dir() and any(out.iterdir()) and not (out / MARKER).is_file():
        raise UserError(
            f"out={out} holds files that are no site of mobench and is left alone; "
            "name a folder that does not exist yet, or an older site"
        )


@contextmanager
def replacing(out: Path) -> Iterator[SiteFolder]:
    """Give a new folder to write to, and put it in the place of `out` when all went well."""
    check_place(out)
    out = out.resolve()
    mark = f"{os.getpid()}.{secrets.token_hex(4)}"
    fresh, old = (out.with_name(f".{out.name}.{mark}.{kind}") for kind in ("new", "old"))
    try:
        fresh.mkdir(parents=True)
        yield SiteFolder(fresh)
        if out.exists():
            out.rename(old)
        fresh.rename(out)
    except OSError as error:
        raise UserError(f"out={out} cannot be written: {error}") from error
    finally:
        for folder in (fresh, old):
            if folder.exists() and (folder == fresh or out.exists()):
                shutil.rmtree(folder, ignore_errors=True)
