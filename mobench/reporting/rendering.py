"""From figures to files: at once, or in processes beside this one while the next figure is being drawn.

Such a process imports this file, what it imports here, and matplotlib, and nothing else of the project.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from mobench.reporting.drawn_by_step import animated

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MOST = 3
"""Processes beside this one: rendering a figure takes at most three times as long as drawing it."""
Files = tuple[bytes, bytes]
"""A figure as SVG and as PNG."""
Render = Callable[["Figure"], Callable[[], Files]]
"""Takes a figure in the style it was drawn in, and returns a function that waits for its files."""


@dataclass(frozen=True)
class Picture:
    """A plot, drawn, with the numbers it was drawn from."""

    name: str
    title: str
    svg: bytes
    png: bytes
    data: pd.DataFrame


def files_of(figure: Figure) -> Files:
    """Return the figure as SVG and as PNG; equal figures give equal files."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    canvas: Any  # matplotlib has no types for what these print
    _leave_empty_labels(figure)
    svg, png = io.BytesIO(), io.BytesIO()
    figure.set_dpi(matplotlib.rcParams["savefig.dpi"])
    # `savefig` would draw each of them twice, the first time for a layout that drawing finds anyway.
    canvas = FigureCanvasSVG(figure)
    canvas.print_svg(svg, metadata={"Date": None})
    figure.set_layout_engine("none")  # the layout is found; finding it again would take as long as drawing
    canvas = FigureCanvasAgg(figure)
    canvas.print_png(png, metadata={"Software": None})
    return animated(svg.getvalue()), png.getvalue()


def _leave_empty_labels(figure: Figure) -> None:
    """Fix the places of labels that say nothing: matplotlib would measure every tick to find them."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if not axis.get_label_text():
                axis.set_label_coords(0.5, 0.5)


def at_once(figure: Figure) -> Callable[[], Files]:
    """Render in this process."""
    files = files_of(figure)
    return lambda: files


@contextmanager
def beside() -> Iterator[Render]:
    """Give a function that renders in other processes, on the cores that drawing leaves free."""
    import matplotlib

    from mobench.running.machine import usable_cores

    helpers = max(1, min(MOST, usable_cores() - 1))
    with ProcessPoolExecutor(helpers, mp_context=get_context("spawn")) as pool:
        pool.submit(_ready)

        def render(figure: Figure) -> Callable[[], Files]:
            # seaborn's colour map is not known there; colours are in the figure anyway
            style = {key: value for key, value in matplotlib.rcParams.items() if key != "image.cmap"}
            return pool.submit(_files_in, style, figure).result

        yield render


def _ready() -> None:
    """Import matplotlib before the first figure comes."""
    import matplotlib.figure  # noqa: F401


def _files_in(style: dict[Any, Any], figure: Figure) -> Files:
    import matplotlib

    with matplotlib.rc_context(style):
        return files_of(figure)
