"""One sentence about a file whose content does not fit its declaration."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

_SENTENCES = {
    "missing": "is missing",
    "extra_forbidden": "is not a known field",
    "unexpected_keyword_argument": "is not a known field",
    "json_invalid": "is not JSON: {error}",
    "value_error": "{error}",
    "literal_error": "is {given}, not {expected}",
    "bool_type": "is {given}, not true or false",
    "float_type": "is {given}, not a finite number",
    "finite_number": "is {given}, not a finite number",
    "int_type": "is {given}, not a whole number",
    "string_type": "is {given}, not a text",
    "list_type": "is {given}, not a list",
    "tuple_type": "is {given}, not a list",
    "dict_type": "is {given}, not an object",
    "dataclass_type": "is {given}, not an object",
    "greater_than_equal": "is {given}, not {ge:g} or more",
    "less_than_equal": "is {given}, not {le:g} or less",
    "too_short": "has {actual_length} entries; it needs {min_length}",
    "too_long": "has {actual_length} entries; the limit is {max_length}",
}
"""pydantic's kinds of mistakes in plain words. A check of our own raises ValueError with the end of the sentence."""


def complaint(error: ValidationError) -> str:
    """Say where the first mistake is, what stands there and what is accepted."""
    mistake = error.errors(include_url=False)[0]
    location = mistake["loc"]
    in_key = location[-1:] == ("[key]",)
    subject = f"{_path(location[:-2])}: a name" if in_key else _path(location) or "it"
    sentence = _SENTENCES.get(mistake["type"], "is {given}: {msg}")
    return f"{subject} {sentence.format(given=given(mistake['input']), msg=mistake['msg'], **mistake.get('ctx', {}))}"


def given(value: object) -> str:
    """Name a JSON value in a message."""
    if isinstance(value, str):
        return f"'{shown(value)}'"
    names = {dict: "an object", list: "a list", type(None): "null", bool: "true" if value else "false"}
    return names.get(type(value)) or shown(value)


def shown(text: object, length: int = 60) -> str:
    """Return untrusted text in a form that is safe to print: ASCII, unseen characters escaped, cut."""
    escaped = str(text).encode("unicode_escape").decode("ascii")
    return escaped if len(escaped) <= length else escaped[: length - 1] + "…"


def _path(location: tuple[Any, ...]) -> str:
    """Spell `("suites", 0, "sweeps")` as `suites[0].sweeps`."""
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{shown(part, 40)}" for part in location)
    return path.removeprefix(".")
