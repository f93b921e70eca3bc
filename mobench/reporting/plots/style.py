"""One look for all plots: a fixed colour and marker for every method, and the rule which contenders are in colour.

Each method has one hue in two shades: `color` for white pages and `on_dark` for dark ones, both with a contrast of 3:1
to their page. No thirty colours are far apart for every reader, so that colour and marker share the work. Within each
shade any two looks are at least 15 CIELAB units apart in normal vision. Two that share a marker are 17 apart under
protanopia, deuteranopia and tritanopia too, and the seven methods of the paper are 30 apart and have a marker each (all
tested).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pandas as pd

from mobench.core.about import Look
from mobench.core.plot import OTHERS
from mobench.core.registry import methods

if TYPE_CHECKING:
    from mobench.core.plot import Plot

BEST = 5
"""How many of the best contenders are in colour."""
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


def best_first(aims: pd.DataFrame) -> list[str]:
    """Return contenders by their mean rank over problem instances, the best first; a number that is missing is last."""
    if not len(aims):
        return []
    sign = aims["better"].map({"max": -1.0, "min": 1.0})
    ranks = (sign * aims["mean"]).groupby(aims["instance_label"]).rank(na_option="bottom")
    return list(ranks.groupby(aims["contender"], sort=False).mean().sort_values(kind="stable").index)


def color_contenders(
    plot: Plot, methods_of: Mapping[str, str], best: Sequence[str], named: Collection[str] = ()
) -> Plot:
    """Give a plot its colours: the first of the best, baselines and what is named have their own, others are grey.

    `methods_of` has the method of every contender; `named` has methods or contenders.
    """
    known = methods()
    plot.kept = [
        name
        for name, method in methods_of.items()
        if {name, method} & {*named} or (method in known and known[method].baseline)
    ]
    colored = {*best[:BEST], *plot.kept}
    looks = method_styles(methods_of)
    plot.colors = {name: look.color if name in colored else OTHERS for name, look in looks.items()}
    plot.markers = {name: look.marker for name, look in looks.items()}
    return plot


@contextmanager
def house_style() -> Iterator[None]:
    """Draw and save in one style that does not depend on the reader's matplotlib settings."""
    import matplotlib

    settings: dict[Any, Any] = {**matplotlib.rcParamsDefault}
    with matplotlib.rc_context(settings | style_settings()):
        yield


@cache
def style_settings() -> dict[str, Any]:
    """Return what differs from the defaults of matplotlib."""
    import seaborn

    return {
        **seaborn.axes_style("whitegrid"),
        **seaborn.plotting_context("paper", font_scale=1.05),
        "axes.titlesize": 10.0,
        "axes.titlelocation": "left",
        "axes.titley": 1.0,  # where it would be found to be, by measuring every tick of every panel
        "figure.labelsize": "medium",
        "axes.edgecolor": "#8a8a8a",
        "axes.spines.top": False,
        "axes.spines.right": False,
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
