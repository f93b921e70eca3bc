"""Plugin files by the hash of their content. Nothing is imported here: what runs is decided by the hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from mobench.errors import UserError


def plugin_files(paths: Iterable[str]) -> dict[str, Path]:
    """Return the Python files among the given files and folders, by their sha256."""
    found: dict[str, Path] = {}
    for path in map(Path, paths):
        if path.is_dir():
            files = sorted(file for file in path.glob("*.py") if not file.name.startswith("_"))
        elif path.is_file() and path.suffix == ".py":
            files = [path]
        else:
            raise UserError(f"plugins={path}: there is no such Python file or folder")
        found |= {hashlib.sha256(file.read_bytes()).hexdigest(): file.resolve() for file in files}
    return found
