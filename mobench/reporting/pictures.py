"""Pictures: figures as files, drawn at once or in processes beside this one."""

from __future__ import annotations

import gc
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from mobench.core.module_path import forget_module_path, same_module_path

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MOST_PROCESSES = 4
"""Processes beside this one: with more, they wait for numbers to draw."""
Files = tuple[bytes, bytes]
"""A figure as SVG and as PNG."""
Render = Callable[[Callable[[], Files]], Callable[[], Files]]
"""Takes a function that draws a figure and returns its files, and returns one that waits for them."""


@dataclass(frozen=True)
class Picture:
    """A plot, drawn, with the numbers it was drawn from."""

    name: str
    title: str
    svg: bytes
    png: bytes
    frame: pd.DataFrame


def files_of(figure: Figure) -> Files:
    """Return the figure as SVG and as PNG; equal figures give equal files."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    canvas: Any  # matplotlib has no types for what these print
    _measure_less(figure)
    svg, png = io.BytesIO(), io.BytesIO()
    figure.set_dpi(matplotlib.rcParams["savefig.dpi"])  # of images inside the SVG
    # `savefig` would draw each of them twice, the first time for a layout that drawing finds anyway.
    canvas = FigureCanvasSVG(figure)
    canvas.print_svg(svg, metadata={"Date": None})
    figure.set_layout_engine("none")  # the layout is found; finding it again would take as long as drawing
    figure.set_dpi(matplotlib.rcParams["savefig.dpi"])  # again: printing an SVG sets its own
    canvas = FigureCanvasAgg(figure)
    canvas.print_png(png, metadata={"Software": None})
    return svg.getvalue(), png.getvalue()


def _measure_less(figure: Figure) -> None:
    """Spare matplotlib to measure every tick where that changes nothing.

    That is for the places of labels that say nothing, and for the room of lines that have the ticks' labels outside.
    """
    for axes in figure.axes:
        for axis, side in ((axes.xaxis, "bottom"), (axes.yaxis, "left")):
            if not axis.get_label_text():
                axis.set_label_coords(0.5, 0.5)
            if axis.get_tick_params().get(f"label{side}", True):
                axes.spines[side].set_in_layout(False)


def at_once(draw: Callable[[], Files]) -> Callable[[], Files]:
    """Draw in this process."""
    files = draw()
    return lambda: files


@contextmanager
def beside(plugins: Iterable[str] = ()) -> Iterator[Render]:
    """Give a function that draws in other processes, which load the plugins; they end with this block."""
    from mobench.running.machine import usable_cores

    context = get_context("spawn")
    helpers = min(MOST_PROCESSES, usable_cores())
    with ProcessPoolExecutor(helpers, context, initializer=_prepare, initargs=(tuple(plugins),)) as pool:

        def render(draw: Callable[[], Files]) -> Callable[[], Files]:
            with same_module_path():
                return pool.submit(_drawn, draw).result

        try:
            yield render
        finally:
            pool.shutdown(cancel_futures=True)  # what is left when an error ended the block, nobody waits for


def _prepare(plugins: Sequence[str]) -> None:
    """Load what drawing needs before the first figure comes.

    Matplotlib makes and drops so many small objects that looking for cycles among them takes a sixth of the time. So
    that is done once after every figure, and never among what is loaded.
    """
    import matplotlib.backends.backend_agg
    import matplotlib.backends.backend_svg  # noqa: F401
    import seaborn  # noqa: F401

    from mobench.core.registry import load_plugins, plots
    from mobench.running.process_tree import die_with_parent

    die_with_parent()
    forget_module_path()
    load_plugins(plugins)
    plots()
    gc.freeze()
    gc.disable()


def _drawn(draw: Callable[[], Files]) -> Files:
    """Draw a figure, and give back the memory that it took."""
    files = draw()
    gc.collect()
    return files
