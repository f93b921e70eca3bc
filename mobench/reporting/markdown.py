"""Tables in Markdown, with everything escaped that Markdown or HTML would read as markup."""

from __future__ import annotations

import re

from mobench.reporting.format import headings, lines_of
from mobench.reporting.notes import sentences
from mobench.scoring.tables import Table

_MARKUP = re.compile(r"([\\`*_\[\]|#~$])")
_SPACE = re.compile(r"\s+")


def escape_markdown(text: str) -> str:
    """Return text that shows as it is, on one line: in a paragraph, a heading or a table's cell."""
    inert = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKUP.sub(r"\\\1", _SPACE.sub(" ", inert))


def markdown_table(table: Table) -> str:
    """Return the table, without its title, followed by its notes."""
    lines = [
        _line([escape_markdown(text) for text in headings(table)]),
        _line([":--", *["--:"] * (len(headings(table)) - 1)]),
        *(_line([escape_markdown(text) for text in texts]) for texts in lines_of(table)),
    ]
    notes = [f"\n{escape_markdown(note)}" for note in sentences(table)]
    return "\n".join([*lines, *notes]) + "\n"


def _line(texts: list[str]) -> str:
    return f"| {' | '.join(texts)} |"
