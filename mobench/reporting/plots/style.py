"""One look for all plots: a fixed colour, marker and dash for every method, wherever it appears.

No seven colours that are legible on white and on dark grey alike could be found that colour-blind readers tell
apart, so each method has one hue in two shades: `color` for white pages and `on_dark` for dark ones. Within each shade
the seven stay at least 30 CIELAB units apart in normal vision and under protanopia, deuteranopia and tritanopia, and
every colour has a contrast of 3:1 with its page (tested). Markers tell methods apart without any colour.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Style:
    """How one method is drawn."""

    color: str
    on_dark: str
    """The same hue for a dark page."""
    marker: str
    dash: tuple[float, ...] | str = ""
    """On and off lengths; empty for a solid line."""

    @property
    def linestyle(self) -> Any:
        """The dash as matplotlib's lines take it."""
        return (0, self.dash) if self.dash else "-"


LATER = (4.0, 1.5)
"""The dash of everything beyond the seven."""

METHODS = {
    "pcd": Style("#553685", "#7353A4", "o"),
    "ws": Style("#C98700", "#E9A101", "s"),
    "mgda": Style("#00AA66", "#29CE83", "^"),
    "pcgrad": Style("#78334A", "#954F62", "D"),
    "cagrad": Style("#A80300", "#C32106", "v"),
    "famo": Style("#485FF4", "#5469FE", "P"),
    "auxinash": Style("#AE87B5", "#CDA6D7", "X"),
    "ws(form=penalty)": Style("#5F9A8B", "#69A596", "<", LATER),
}
"""Purple, amber, green, wine, red, blue and lilac; dashed grey-green for the other form of the weighted sum."""

FURTHER = (
    Style("#00838F", "#00949F", "p", LATER),
    Style("#F0503F", "#FF5A4B", "h", LATER),
    Style("#A07800", "#A88000", ">", LATER),
    Style("#C32DC3", "#CE45CE", "*", LATER),
    Style("#767676", "#8C8C8C", "d", LATER),
    Style("#8C7CF0", "#A596FF", "8", LATER),
    Style("#5C8A00", "#659600", "H", LATER),
)
"""For methods that came later, and for other variants; always dashed, with a marker of its own."""


def method_styles(names: Iterable[str]) -> dict[str, Style]:
    """Return the style of every name.

    A name without a style of its own gets one of `FURTHER` by its hash, so that it looks the same in
    every plot; only where two such names meet on one style does the later one move on to the next.
    """
    styles, taken = {}, set()
    ordered = list(dict.fromkeys(names))
    for name in sorted(ordered):
        if name in METHODS:
            styles[name] = METHODS[name]
            continue
        first = int(hashlib.sha256(name.encode()).hexdigest(), 16)
        slots = [(first + offset) % len(FURTHER) for offset in range(len(FURTHER))]
        slot = next((slot for slot in slots if slot not in taken), slots[0])
        taken.add(slot)
        styles[name] = FURTHER[slot]
    return {name: styles[name] for name in ordered}


@contextmanager
def house_style() -> Iterator[None]:
    """Draw and save in one style that does not depend on the reader's matplotlib settings."""
    import matplotlib
    import seaborn

    changes: dict[Any, Any] = {
        "axes.titlesize": 10.0,
        "axes.titlelocation": "left",
        "axes.edgecolor": "#8a8a8a",
        "grid.color": "#e4e4e4",
        "grid.linewidth": 0.7,
        "font.family": ["DejaVu Sans"],
        "legend.frameon": False,
        "lines.linewidth": 1.6,
        "lines.markersize": 5.5,
        "svg.hashsalt": "mobench",
        "figure.dpi": 100.0,
        "savefig.dpi": 150.0,
    }
    style = {**seaborn.axes_style("whitegrid"), **seaborn.plotting_context("paper", font_scale=1.05)}
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **style, **changes}):
        yield
