"""Tables in Markdown, with everything escaped that Markdown or HTML would read as markup."""

from __future__ import annotations

import re

from mobench.reporting.sheet import Cell, Sheet

_MARKUP = re.compile(r"([\\`*_\[\]|#~$])")
_SPACE = re.compile(r"\s+")


def escape_markdown(text: str) -> str:
    """Return text that shows as it is, on one line: in a paragraph, a heading or a table's cell."""
    inert = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKUP.sub(r"\\\1", _SPACE.sub(" ", inert))


def markdown_table(sheet: Sheet) -> str:
    """Return the table, without its title, followed by its notes."""
    lines = [
        _line([escape_markdown(text) for text in sheet.header]),
        _line([":--", *["--:"] * (len(sheet.header) - 1)]),
        *(_line([_cell(cell) for cell in row]) for row in sheet.rows),
    ]
    notes = [f"\n{escape_markdown(note)}" for note in sheet.notes]
    return "\n".join([*lines, *notes]) + "\n"


def _cell(cell: Cell) -> str:
    text = escape_markdown(cell.full)
    return f"**{text}**" if cell.strong else text


def _line(texts: list[str]) -> str:
    return f"| {' | '.join(texts)} |"
