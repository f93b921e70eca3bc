"""`key=value` on the command line: dotted keys, YAML values, nothing silently dropped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from mobench.errors import UserError, unknown
from mobench.planning.yaml_text import read_yaml

NAME_LISTS = ("suite", "methods", "problems", "plugins")
"""Keys whose plain value is a comma-separated list of names."""


def parse_overrides(arguments: Iterable[str], accepted: Iterable[str]) -> dict[str, Any]:
    """Turn `a.b=value` arguments into a flat mapping; the part before the first dot must be accepted."""
    keys = tuple(accepted)
    overrides: dict[str, Any] = {}
    for argument in arguments:
        key, equals, text = argument.partition("=")
        if not equals:
            raise UserError(f"'{argument}' is not of the form key=value; keys: {', '.join(sorted(keys))}")
        if key.partition(".")[0] not in keys:
            raise unknown("key", key, keys)
        if key in overrides:
            raise UserError(f"{key} is given twice")
        overrides[key] = _value(key, text)
    return overrides


def _value(key: str, text: str) -> Any:
    if key in NAME_LISTS:
        return [name.strip() for name in text.strip("[]").split(",") if name.strip()]
    try:
        return read_yaml(text)
    except yaml.YAMLError:
        raise UserError(f"{key}={text} cannot be read; give a number, a word, or a list like [0.1,0.2]") from None


def section(overrides: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the overrides below `name.`, with that prefix removed."""
    prefix = f"{name}."
    return {key.removeprefix(prefix): value for key, value in overrides.items() if key.startswith(prefix)}


def overlay(base: Any, change: Any) -> Any:
    """Return `base` with `change` laid over it: mappings merge, everything else is replaced."""
    if isinstance(base, Mapping) and isinstance(change, Mapping):
        return {**base, **{key: overlay(base.get(key), value) for key, value in change.items()}}
    return change
