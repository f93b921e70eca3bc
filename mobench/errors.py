"""Errors a person can act on: what was given, what is accepted, the nearest spelling."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import ValidationError

LONGEST = 80
"""No value takes more characters than this in a message."""
MOST = 40
"""Of more accepted names than this, only the nearest are listed."""

_WORDS = {
    "dataclass_type": "a mapping",
    "dict_type": "a mapping",
    "list_type": "a list",
    "string_type": "a text",
    "too_short": "at least one entry",
    "tuple_type": "a list",
}


class UserError(Exception):
    """A mistake in the input. The command line prints the message alone and exits with 2."""


class StorageError(UserError):
    """The results folder cannot be written: full, read-only, or gone."""

    @classmethod
    def of(cls, folder: Path, error: OSError) -> StorageError:
        """Describe what the system said about `folder`."""
        return cls(
            f"{folder} cannot be written: {error.strerror or error}. "
            "What is stored is whole; when the cause is removed, the same command does the rest"
        )


class MissingDataError(UserError):
    """Data that is not here and could not be fetched; the message says how to get it."""


class NonFiniteError(ValueError):
    """A loss, gradient or weight is NaN or infinite; the message says which and where."""


class NonFiniteAnswerError(NonFiniteError):
    """A method answered finite gradients with a weight or a direction that is not finite: a defect of the method."""


class MethodError(RuntimeError):
    """A method broke its contract, e.g. by returning the wrong number of weights."""


def unknown(kind: str, given: str, accepted: Iterable[str]) -> UserError:
    """Build the error for a name that is not among the accepted ones."""
    return UserError(f"unknown {kind} '{given}'.{nearest(given, accepted)}")


def nearest(given: str, accepted: Iterable[str]) -> str:
    """Return the accepted name that is spelled most like the given one, and all accepted ones, as sentences."""
    names = sorted(accepted)
    close = get_close_matches(given, names, n=1, cutoff=0.5)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    shown = names if len(names) <= MOST else [*get_close_matches(given, names, n=MOST // 4, cutoff=0.0), "…"]
    return f"{hint} Accepted: {', '.join(shown) if names else 'none'}"


def spelled(value: Any) -> str:
    """Return a value as it is written in `key=value`, cut where it is too long for a message."""
    if isinstance(value, (list, tuple)):
        text = "[" + ",".join(map(spelled, value[:LONGEST])) + "]"
    elif isinstance(value, Mapping):
        text = "{" + ", ".join(f"{key}: {spelled(item)}" for key, item in value.items()) + "}"
    elif isinstance(value, int) and value.bit_length() > 10_000:
        text = hex(value)  # Python refuses to write so long a number in decimals
    else:
        text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def misshaped(place: str, given: Any, error: ValidationError) -> UserError:
    """Build the error for a document that does not fit its schema: place, key path, value and what is accepted.

    A value that may be of several types has a finding for each; the one that came furthest is meant.
    """
    found = [(*_followed(given, finding["loc"]), finding) for finding in error.errors(include_url=False)]
    steps, value, finding = max(found, key=lambda each: (len(each[0]), not each[2]["type"].endswith("_type")))
    path = "".join(steps).removeprefix(".") or "the file"
    kind, context = finding["type"], finding.get("ctx", {})
    if kind == "unknown_key":
        key = "".join([*steps, f".{context['key']}"]).removeprefix(".")
        return UserError(f"{place}: unknown key {key}.{nearest(context['key'], context['accepted'])}")
    if kind == "missing":
        return UserError(f"{place}: {path} lacks the key {finding['loc'][-1]}: {spelled(value)}")
    if kind == "literal_error":
        accepted = nearest(str(value), re.findall(r"'([^']*)'", context["expected"]))
        return UserError(f"{place}: {path}={spelled(value)} is not accepted.{accepted}")
    words = _WORDS.get(kind, finding["msg"].removeprefix("Input should be "))
    return UserError(f"{place}: {path}={spelled(value)} is not accepted; it takes {words}")


def _followed(value: Any, location: Iterable[int | str]) -> tuple[list[str], Any]:
    """Return the steps to a finding, and the value there; what is not in the document names a type of a union."""
    steps = []
    for part in location:
        if isinstance(value, Mapping) and part in value:
            steps.append(f".{part}")
        elif isinstance(value, (list, tuple)) and isinstance(part, int) and part < len(value):
            steps.append(f"[{part}]")
        else:
            continue
        value = value[part]
    return steps, value
