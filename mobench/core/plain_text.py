"""Text of others, safe to store and to print: nothing in it moves a cursor, hides, or cannot be encoded."""

from __future__ import annotations

import re
import traceback

LONGEST_ERROR = 64_000
"""How many characters of an error are kept: the beginning and the end."""
LONGEST_LINE = 500
"""How many characters of its last line are shown."""

_UNSEEN = re.compile(
    "[^\\n\\t\\x20-\\x7e\\xa0-\\u200a\\u2010-\\u2027\\u202f-\\u2065\\u206a-\\ud7ff\\ue000-\\ufefe\\uff00-\\U0010ffff]"
)
"""Control characters, halves of surrogate pairs, and what reverses the order of letters or has no width."""


def plain(text: str) -> str:
    """Return a text in which characters that are not seen are spelled out, e.g. `\\x1b`."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def readable(text: str, longest: int = LONGEST_ERROR) -> str:
    """Return a `plain` text of some `longest` characters; of a longer one the middle is left out."""
    if len(text) > longest:
        half = longest // 2
        text = f"{text[:half]}\n[… {len(text) - 2 * half:,} characters left out …]\n{text[-half:]}"
    return plain(text)


def last_line(text: str) -> str:
    """Return the last line that says something, `plain`, and cut where it is too long to be read."""
    line = readable(text).rstrip().rpartition("\n")[2].strip()
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"


def in_one_line(text: str) -> str:
    """Return a text as one line, `plain`, and cut where it is too long to be read."""
    line = plain(" ".join(text[: 10 * LONGEST_LINE].split()))
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"


def first_said_by(error: BaseException) -> str:
    """Return the first line of what an error says, with its type: of a device's, the others are advice."""
    return in_one_line("".join(traceback.format_exception_only(error)).strip().partition("\n")[0])


def said_by(error: BaseException) -> str:
    """Return the last line of what an error says, with its type."""
    return last_line("".join(traceback.format_exception_only(error)))
