"""One spelling for everything in a bundle, and no text that a terminal or a page could be fooled with."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import orjson

from mobench.errors import UserError
from mobench.submissions import limits

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Control characters, bidi overrides and other invisible ones, unassigned code points, line separators."""


class BundleError(UserError):
    """A bundle is not what it should be; the message names the bundle, the entry and the reason."""


class RefusedError(Exception):
    """Why an entry of a bundle is refused; becomes a `BundleError` where the bundle's name is known."""

    def __init__(self, entry: str, reason: str) -> None:
        super().__init__(f"{entry}: {reason}")


def spell(value: Any) -> bytes:
    """Return the one spelling of a JSON value: ASCII, sorted keys, no spaces, shortest numbers."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def read_line(entry: str, line: bytes) -> Any:
    """Parse a line that must be spelled as `spell` does.

    So there are no repeated keys, no infinite numbers and no whole numbers beyond 64 bits, which
    different readers would understand differently.
    """
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise RefusedError(entry, f"it is not JSON: {error}") from None
    _walk(entry, value, limits.DEPTH)
    if spell(value) != line:
        raise RefusedError(entry, "it is not in canonical form: a repeated key, a number out of range or odd spelling")
    return value


def _walk(entry: str, value: Any, depth: int) -> None:
    """Bound nesting and numbers of a parsed value."""
    if isinstance(value, (dict, list)):
        if depth == 0:
            raise RefusedError(entry, f"it is nested deeper than {limits.DEPTH} levels")
        for item in value.values() if isinstance(value, dict) else value:
            _walk(entry, item, depth - 1)
    elif isinstance(value, float) and not abs(value) <= limits.LARGEST:
        raise RefusedError(entry, f"the number {value:.3g} is beyond ±{limits.LARGEST:g}")
    elif isinstance(value, int) and abs(value) > limits.WHOLE:
        raise RefusedError(entry, f"the whole number {value} is beyond ±2^53")


def is_plain(text: str, also: str = "") -> bool:
    """Say whether all characters are visible ones or spaces, or among `also`."""
    return all(character in also or unicodedata.category(character) not in _UNSEEN for character in text)


def shown(text: object, length: int = 60) -> str:
    """Return untrusted text in a form that is safe to print: ASCII, unseen characters escaped, cut."""
    escaped = str(text).encode("unicode_escape").decode("ascii")
    return escaped if len(escaped) <= length else escaped[: length - 1] + "…"


def plain(text: str, length: int) -> str:
    """Return one's own text without unseen characters, cut to `length`: for error messages of runs."""
    clean = "".join(character if is_plain(character) else " " for character in text)
    return clean if len(clean) <= length else clean[: length - 1] + "…"
