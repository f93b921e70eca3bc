"""The speed of the code: asv's own pages, copied under `speed/`, and a table of peers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from mobench.errors import UserError
from mobench.report import number

from .output import SiteFolder
from .tables import PlainCell

KEYS = ("caption", "header", "rows", "notes")


@dataclass(frozen=True)
class Speed:
    """What a site shows of speed."""

    folder: Path | None
    peers: dict[str, Any] | None

    @property
    def shown(self) -> dict[str, Any] | None:
        """What the front page shows, None where there is nothing."""
        if self.folder is None and self.peers is None:
            return None
        return {"href": "speed/index.html" if self.folder is not None else "", "peers": self.peers}

    def write(self, site: SiteFolder) -> None:
        """Copy asv's pages into the site; they keep their own scripts and are no part of its policy."""
        if self.folder is not None:
            site.copy(self.folder, "speed")


def read_speed(folder: Path | None, peers: Path | None) -> Speed:
    """Check what is to be shown."""
    if folder is not None and not (folder / "index.html").is_file():
        raise UserError(f"speed={folder}: there is no index.html; `asv publish` writes one")
    return Speed(folder, None if peers is None else _peers(peers))


def _peers(path: Path) -> dict[str, Any]:
    """Read a table: caption, header, rows (lists of texts and numbers) and notes."""
    try:
        data = orjson.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UserError(f"peers={path} cannot be read: {error}") from None
    if not isinstance(data, dict) or not set(KEYS) >= data.keys() >= {"header", "rows"}:
        raise UserError(f"peers={path} must be a JSON object with keys {', '.join(KEYS)}")
    width = len(data["header"])
    if any(not isinstance(row, list) or len(row) != width for row in data["rows"]):
        raise UserError(f"peers={path}: every row must be a list of {width} entries, like the header")
    return {
        "caption": str(data.get("caption", "Beside other libraries")),
        "header": [str(text) for text in data["header"]],
        "rows": [[_cell(value) for value in row] for row in data["rows"]],
        "notes": [str(text) for text in data.get("notes", ())],
    }


def _cell(value: Any) -> PlainCell:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return PlainCell("–" if value is None else str(value), "" if value is None else None)
    return PlainCell(number(value), repr(value))
