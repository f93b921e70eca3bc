"""Ask an untrusted JSON object for its fields, by type and size; nothing may be missing or left over."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from mobench.submissions import limits
from mobench.submissions.text import RefusedError, is_plain, shown


class Entry:
    """One JSON object with exactly the given keys."""

    def __init__(self, place: str, value: object, keys: tuple[str, ...] | None = None) -> None:
        self.place = place
        if not isinstance(value, dict):
            raise RefusedError(place, f"it is {_kind(value)}, not an object")
        self._fields: dict[str, Any] = value
        if keys is not None and set(value) != set(keys):
            missing, unknown = sorted(set(keys) - set(value)), sorted(set(value) - set(keys))
            parts = [f"{key} is missing" for key in missing] + [f"{shown(key)} is not a known field" for key in unknown]
            raise RefusedError(place, "; ".join(parts[:5]))

    def inside(self, key: str, keys: tuple[str, ...] | None = None) -> Entry:
        """Return the object in field `key`."""
        return Entry(f"{self.place}, {key}", self._fields[key], keys)

    def raw(self, key: str) -> Any:
        """Return a field as it is."""
        return self._fields[key]

    def refuse(self, key: str, wanted: str) -> RefusedError:
        """Return the refusal of a field."""
        return RefusedError(self.place, f"{shown(key)} is {_kind(self._fields[key])}, not {wanted}")

    def text(self, key: str, length: int = limits.TEXT, also: str = "") -> str:
        """Return a field that is a text of visible characters."""
        return plain_text(f"{self.place}, {shown(key)}", self._fields[key], length, also)

    def match(self, key: str, pattern: re.Pattern[str], wanted: str) -> str:
        """Return a field that is a text of the given form."""
        value = self._fields[key]
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise self.refuse(key, wanted)
        return value

    def integer(self, key: str, low: int = 0, high: int = limits.WHOLE) -> int:
        """Return a field that is a whole number."""
        value = self._fields[key]
        if type(value) is not int or not low <= value <= high:
            raise self.refuse(key, f"a whole number from {low} to {high}")
        return value

    def array(self, key: str, most: int) -> list[Any]:
        """Return a field that is a list."""
        value = self._fields[key]
        if not isinstance(value, list) or len(value) > most:
            raise self.refuse(key, f"a list of at most {most}")
        return value

    def items(self, names: re.Pattern[str], wanted: str, most: int = limits.ENTRIES) -> Iterator[tuple[str, Any]]:
        """Yield the fields of an object that is a mapping from names to values."""
        if len(self._fields) > most:
            raise RefusedError(self.place, f"it has {len(self._fields)} entries; the limit is {most}")
        for key, value in self._fields.items():
            if not names.fullmatch(key):
                raise RefusedError(self.place, f"the name '{shown(key)}' is not {wanted}")
            yield key, value

    def numbers(self, names: re.Pattern[str], wanted: str) -> dict[str, float]:
        """Return a mapping from names to finite numbers."""
        found = {}
        for key, value in self.items(names, wanted):
            if not is_number(value):
                raise self.refuse(key, "a finite number")
            found[key] = float(value)
        return found


def is_number(value: object) -> bool:
    """Say whether a value is a finite number; true and false are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def plain_text(place: str, value: object, length: int = limits.TEXT, also: str = "") -> str:
    """Return a text of at most `length` visible characters."""
    if not isinstance(value, str):
        raise RefusedError(place, f"it is {_kind(value)}, not a text")
    if len(value) > length:
        raise RefusedError(place, f"it has {len(value)} characters; the limit is {length}")
    if not is_plain(value, also):
        raise RefusedError(place, f"it has control or invisible characters: {shown(value)}")
    return value


def settings(place: str, value: object) -> dict[str, Any]:
    """Return a mapping from setting names to numbers, texts, truth values or lists of numbers."""
    found: dict[str, Any] = {}
    for key, item in Entry(place, value).items(limits.SETTING_NAME, "a setting's name"):
        if isinstance(item, list):
            if not all(map(is_number, item)) or not 1 <= len(item) <= limits.ENTRIES:
                raise RefusedError(place, f"{key} is not a list of numbers")
            found[key] = tuple(item)
        elif isinstance(item, str):
            found[key] = plain_text(f"{place}, {key}", item)
        elif item is None or isinstance(item, bool) or is_number(item):
            found[key] = item
        else:
            raise RefusedError(place, f"{key} is {_kind(item)}, not a setting")
    return found


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", type(None): "null"}
    return names.get(type(value)) or (f"'{shown(value)}'" if isinstance(value, str) else shown(value))
