"""The speed of the code: its history as asv recorded it, on pages under `speed/`, and a table of peers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from mobench.errors import UserError
from mobench.report import number

from .output import SiteFolder
from .pages import Pages
from .speed_page import DATA, PAGE, records_file, speed_page
from .speed_records import Machine, read_records
from .tables import PlainCell

KEYS = ("caption", "header", "rows", "notes")


@dataclass(frozen=True)
class Speed:
    """What a site shows of speed."""

    machines: list[Machine]
    peers: dict[str, Any] | None

    @property
    def shown(self) -> dict[str, Any] | None:
        """What the front page shows, None where there is nothing."""
        if not self.machines and self.peers is None:
            return None
        return {"href": PAGE if self.machines else "", "peers": self.peers}

    def write(self, site: SiteFolder, pages: Pages) -> None:
        """Write the page of asv's records and their values.

        asv's own pages load libraries from other hosts and name the interpreter's path, so they stay
        where they are.
        """
        if self.machines:
            site.write(PAGE, speed_page(pages, self.machines))
            site.write(DATA, records_file(self.machines))


def read_speed(folder: Path | None, peers: Path | None) -> Speed:
    """Check what is to be shown."""
    return Speed([] if folder is None else read_records(folder), None if peers is None else _peers(peers))


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
