"""`mobench.toml`: what commands started in a folder assume where their line does not say it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mobench.core.settings import Setting
from mobench.errors import UserError, unknown

FILE = "mobench.toml"
PER_RUN = {"suite", "profile", "problem", "methods", "problems", "seeds", "retry", "dry_run", "quiet", "log"}
"""Keys of `run` that say what to do this time; all others are about the machine and the folder."""


def project_defaults(known: Mapping[str, Setting], lasting: Mapping[str, Setting]) -> dict[str, Any]:
    """Return what the file says of the keys in `known`; keys that are not in `lasting` are refused.

    Tables are written with dots on the line: `[data]` with `root = "…"` is `data.root`.
    """
    path = Path(FILE)
    if not path.is_file():
        return {}
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{FILE} cannot be read: {error}") from None
    found = {}
    for key, value in _flat(said).items():
        if key not in lasting:
            raise unknown(f"key of {FILE}", key, lasting)
        setting = lasting[key]
        named = [value] if setting.kind == "names" and isinstance(value, str) else value
        checked = setting.parse(f"{FILE}: {key}", named)
        if key in known:
            found[key] = checked
    return found


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return flat
