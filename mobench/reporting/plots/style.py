"""One look for all plots: a fixed colour, marker and dash for every method, wherever it appears.

Each method has one hue in two shades: `color` for white pages and `on_dark` for dark ones, both with a contrast of 3:1
to their page. No thirty colours are far apart for every reader, so that colour and marker share the work. Within each
shade any two looks are at least 15 CIELAB units apart in normal vision. Two that share a marker are 17 apart under
protanopia, deuteranopia and tritanopia too, and the seven methods of the paper are 30 apart and have a marker each (all
tested).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

from mobench.core.about import Look
from mobench.core.registry import methods

DASH = (4.0, 1.5)

FURTHER = (
    Look("#00838F", "#00949F", "p", DASH),
    Look("#F0503F", "#FF5A4B", "h", DASH),
    Look("#5F9A8B", "#69A596", "<", DASH),
    Look("#C32DC3", "#CE45CE", "*", DASH),
    Look("#767676", "#8C8C8C", "d", DASH),
    Look("#8C7CF0", "#A596FF", "8", DASH),
    Look("#5C8A00", "#659600", "H", DASH),
    Look("#A07800", "#A88000", ">", DASH),
)
"""For methods that state no look of their own, and for a method's other forms: dashed, each with its own marker."""


def stated_looks() -> dict[str, Look]:
    """Return the looks that methods state in their own files."""
    return {name: method.look for name, method in methods().items() if method.look is not None}


def method_styles(names: Iterable[str]) -> dict[str, Look]:
    """Return the look of every name, registered or not.

    A method that states none has a look by its name alone: a colour and a marker of `FURTHER`. So it keeps
    it in every plot, report and page, whoever stands beside it and whether its plugin is loaded or not. Another form of
    a method, as `ws(form=penalty)`, has a look of `FURTHER` that no form beside it has, as long as they last.
    """
    ordered = list(dict.fromkeys(names))
    looks = stated_looks()
    taken: set[int] = set()
    for name in sorted({*ordered} - looks.keys()):
        number = int(hashlib.sha256(name.encode()).hexdigest(), 16)
        if "(" not in name:
            shape = FURTHER[number // len(FURTHER) % len(FURTHER)].marker
            looks[name] = replace(FURTHER[number % len(FURTHER)], marker=shape)
            continue
        slots = [(number + offset) % len(FURTHER) for offset in range(len(FURTHER))]
        slot = next((slot for slot in slots if slot not in taken), slots[0])
        taken.add(slot)
        looks[name] = FURTHER[slot]
    return {name: looks[name] for name in ordered}


@contextmanager
def house_style() -> Iterator[None]:
    """Draw and save in one style that does not depend on the reader's matplotlib settings."""
    import matplotlib

    with matplotlib.rc_context(_settings()):
        yield


@cache
def _settings() -> dict[Any, Any]:
    import matplotlib
    import seaborn

    changes: dict[Any, Any] = {
        "axes.titlesize": 10.0,
        "axes.titlelocation": "left",
        "axes.titley": 1.0,  # where it would be found to be, by measuring every tick of every panel
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
    return {**matplotlib.rcParamsDefault, **style, **changes}
