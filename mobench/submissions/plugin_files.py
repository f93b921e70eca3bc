"""Plugin files by the hash of their content. Nothing is imported here: what runs is decided by the hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from mobench.core.registry import plugin_paths


def plugin_files(paths: Iterable[str]) -> dict[str, Path]:
    """Return the Python files among the given files and folders, by their sha256."""
    return {hashlib.sha256(file.read_bytes()).hexdigest(): file for file in plugin_paths(paths)}
