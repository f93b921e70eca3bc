"""Speed: what methods cost, a table of peers, and the history of the code as asv recorded it, under `speed/`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from mobench.errors import UserError
from mobench.reporting.sheet import number

from .output import SiteFolder
from .pages import Pages
from .pictures import size_of, write_picture
from .speed_page import DATA, PAGE, records_file, speed_page
from .speed_records import Machine, read_records
from .tables import PlainCell

KEYS = ("caption", "header", "rows", "notes", "picture")
PICTURE, PLOT = "speed/peers", "Ratios with quartiles; red marks are what is asked"


@dataclass(frozen=True)
class Speed:
    """What a site shows of speed."""

    machines: list[Machine]
    peers: dict[str, Any] | None
    picture: bytes | None = None
    costs: Mapping[str, Any] | None = None
    """What a step of each method costs, see `method_costs`."""

    @property
    def shown(self) -> dict[str, Any] | None:
        """What the front page says, None where there is nothing."""
        if not self.machines and self.peers is None and self.costs is None:
            return None
        parts = {"methods": self.costs, "peers": self.peers, "history": self.machines}
        return {"href": PAGE, **{name: bool(part) for name, part in parts.items()}}

    def write(self, site: SiteFolder, pages: Pages) -> None:
        """Write the page of speed with its data.

        asv's own pages load libraries from other hosts and name the interpreter's path, so they stay
        where they are.
        """
        if self.machines:
            site.write(DATA, records_file(self.machines))
        picture = None if self.picture is None else write_picture(site, PICTURE, PLOT, self.picture)
        if self.shown:
            site.write(PAGE, speed_page(pages, self.machines, self.peers, picture, self.costs))


def read_speed(folder: Path | None, peers: Path | None) -> Speed:
    """Check what is to be shown."""
    machines = [] if folder is None else read_records(folder)
    if peers is None:
        return Speed(machines, None)
    table = _peers(peers)
    return Speed(machines, table, _picture(peers, table.pop("picture")))


def _picture(peers: Path, name: str | None) -> bytes | None:
    """Read the plot beside the table."""
    if name is None:
        return None
    if Path(name).name != name or not name.endswith(".svg"):
        raise UserError(f"peers={peers}: picture is {name!r}; it takes the name of an SVG file in the same folder")
    try:
        svg = (peers.parent / name).read_bytes()
        size_of(svg)
    except OSError as error:
        raise UserError(f"peers={peers}: picture {name} cannot be read: {error.strerror}") from None
    except ValueError:
        raise UserError(f"peers={peers}: picture {name} is no SVG with width and height in points") from None
    return svg


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
        "picture": None if data.get("picture") is None else str(data["picture"]),
    }


def _cell(value: Any) -> PlainCell:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return PlainCell("–" if value is None else str(value), "" if value is None else None)
    return PlainCell(number(value), repr(value))
