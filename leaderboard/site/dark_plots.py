"""Our plots on a dark page: the same SVG with other colours.

Greys are mirrored: white becomes the page, ink becomes light, and what lies between keeps its order of contrast. A
method's colour becomes the shade of the same hue that is made for dark pages. All other colours stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from mobench.reporting.plots.style import FURTHER, stated_looks

LIGHT_PAGE, DARK_PAGE = "#ffffff", "#14161a"
NAMED = {
    LIGHT_PAGE: DARK_PAGE,
    "#e4e4e4": "#30343b",  # grid
    "#8a8a8a": "#8a8a8a",  # axes: over 3:1 on both pages
    "#555555": "#b4b4b4",
    "#333333": "#d2d2d2",
    "#262626": "#e8e8e8",  # text
    "#222222": "#e8e8e8",
    "#000000": "#ffffff",
}
"""The greys that plots are drawn with, and what they become."""

_COLOR = re.compile(r"(?P<place>(?:fill|stroke|stop-color)(?:\s*:\s*|\s*=\s*[\"']))(?P<color>#[0-9a-fA-F]{6})\b")


def dark(svg: bytes) -> bytes:
    """Return the SVG of one of our plots in colours for the dark page; ids, shapes and data stay as they are."""
    looks = (*stated_looks().values(), *FURTHER)
    known = NAMED | {look.color.lower(): look.on_dark.lower() for look in looks}
    return _COLOR.sub(lambda found: found["place"] + dark_color(found["color"], known), svg.decode()).encode()


def dark_color(color: str, known: Mapping[str, str] = NAMED) -> str:
    """Return what a colour of a plot on white becomes on the dark page; what is not known stays, unless it is grey."""
    key = color.lower()
    if key in known:
        return known[key]
    red, green, blue = (int(key[start : start + 2], 16) for start in (1, 3, 5))
    if red == green == blue:
        low, high = int(DARK_PAGE[1:3], 16), 0xE8
        mirrored = round(low + (high - low) * (255 - red) / 255)
        return f"#{mirrored:02x}{mirrored:02x}{mirrored:02x}"
    return key
