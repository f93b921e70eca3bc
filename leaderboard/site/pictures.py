"""The plots of a suite as files: SVG for either theme, PNG, and the numbers they were drawn from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from mobench.core.registry import plots
from mobench.reporting.csv import csv_text
from mobench.reporting.pictures import Picture, Render
from mobench.reporting.plots import begin_plots, color_contenders, draw
from mobench.scoring.catalog import MetricCatalog
from mobench.scoring.performance import performance_frame
from mobench.scoring.results import SuiteResults

from .dark_plots import dark
from .old_tables import Ranking, Shown
from .output import SiteFolder

ALWAYS = "performance-profile"
"""The plot of every suite in which contenders met more than once."""

_SIZE = {side: re.compile(rb"<svg[^>]*?\b" + side + rb'="([0-9.]+)pt"', re.DOTALL) for side in (b"width", b"height")}
_PIXELS = 96 / 72


def begin_suite(results: SuiteResults, render: Render) -> Callable[[], list[Picture]]:
    """Draw the plots that a suite asks for, and the one that every suite has; the function waits for them."""
    if not len(results.done):
        return list
    asked = {entry if isinstance(entry, str) else entry.get("plot") for entry in results.suite.plots}
    return begin_plots([*results.suite.plots, *([] if ALWAYS in asked else [ALWAYS])], results, render)


def begin_ranking(
    ranking: Ranking | None, methods_of: Mapping[str, str], render: Render
) -> Callable[[], list[Picture]]:
    """Draw the performance profiles over all suites; the function waits for them."""
    if ranking is None or not len(frame := performance_frame(ranking.found.ranked.contests)):
        return list
    best = [str(name) for name in ranking.found.frame["contender"]]
    plot = color_contenders(plots()[ALWAYS](), {name: methods_of[name] for name in best}, best)
    files = render(partial(draw, plot, frame, MetricCatalog()))
    return lambda: [Picture(ALWAYS, plot.title(), *files(), frame)]


def write_pictures(folder: SiteFolder, place: str, about: str, wait: Callable[[], Iterable[Picture]]) -> list[Shown]:
    """Wait for pictures, write all their files under `plots/<place>/`, and return how to show them."""
    shown = []
    for picture in wait():
        stem = f"plots/{place}/{picture.name}"
        shown.append(write_picture(folder, stem, picture.title, picture.svg, about))
        folder.write(f"{stem}.png", picture.png)
        folder.write(f"{stem}.csv", csv_text(picture.frame))
    return shown


def write_picture(folder: SiteFolder, stem: str, title: str, svg: bytes, about: str = "") -> Shown:
    """Write a plot for both themes, and return how to show it."""
    folder.write(f"{stem}.svg", svg)
    folder.write(f"{stem}.dark.svg", dark(svg))
    width, height = size_of(svg)
    return Shown(stem, title, f"Plot. {title}. {about}".strip(), width, height)


def size_of(svg: bytes) -> tuple[int, int]:
    """Return width and height in pixels, as the figure states them; ValueError where it does not."""
    found = [pattern.search(svg) for pattern in _SIZE.values()]
    width, height = (round(_PIXELS * float(size[1])) for size in found if size is not None)
    return width, height
