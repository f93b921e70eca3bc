"""Docstrings and settings of any plugin, ours or not, as plain text for a page."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping
from typing import Any

from mobench.core.settings import Configurable, Setting

from .parts import Block, SettingRow


def blocks(plugin: type) -> tuple[Block, ...]:
    """Return the class's own docstring in blocks: paragraphs in one line each, indented parts as they are."""
    pieces = inspect.cleandoc(vars(plugin).get("__doc__") or "").split("\n\n")
    return tuple(_block(piece.strip("\n")) for piece in pieces if piece.strip())


def _block(piece: str) -> Block:
    lines = piece.split("\n")
    if all(line.startswith("    ") or not line.strip() for line in lines):
        return Block(textwrap.dedent(piece), preformatted=True)
    return Block(" ".join(line.strip() for line in lines), preformatted=False)


def paragraphs(found: tuple[Block, ...]) -> tuple[str, ...]:
    """Return the blocks that are words."""
    return tuple(block.text for block in found if not block.preformatted)


def setting_rows(plugin: type[Configurable]) -> tuple[SettingRow, ...]:
    """Return every setting with its meaning, default and accepted values."""
    declared: Mapping[str, Setting] = plugin.settings
    return tuple(
        SettingRow(name, setting.meaning, _spelled(setting.default), setting.accepted)
        for name, setting in declared.items()
    )


def _spelled(value: Any) -> str:
    """Return a value as it is written in `key=value`."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_spelled, value)) + "]"
    return str(value)
