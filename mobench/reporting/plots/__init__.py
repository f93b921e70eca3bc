"""Plots of results: numbers from a suite's results, and a figure from these numbers.

A suite says which it wants: `plots: [aim, {plot: curves, objective: 2}]`. Beside `plot`, an entry may have `where`
(only runs whose columns have these values), `title` and the options of the plot. Matplotlib and seaborn are imported
when the first figure is drawn, so that names and options can be checked at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from mobench.core.plot import MetricNames, Plot
from mobench.core.registry import plots
from mobench.errors import UserError, unknown
from mobench.reporting.pictures import Files, Picture, Render, at_once, files_of

from .along_the_run import AlongTheRun, read_together
from .drawing import add_legend, as_title
from .style import best_first, color_contenders, house_style, style_settings

if TYPE_CHECKING:
    import pandas as pd
    import seaborn.objects as so
    from matplotlib.figure import Figure

    from mobench.scoring.results import SuiteResults

Asked = tuple[Plot, str, Mapping[str, Any], dict[str, Any]]
"""A plot, its title, which runs it is drawn from, and its options."""

__all__ = ["begin_plots", "color_contenders", "draw", "draw_plots", "figure_of", "house_style"]


def draw_plots(
    entries: Iterable[str | Mapping[str, Any]],
    results: SuiteResults,
    render: Render = at_once,
    named: Collection[str] = (),
) -> list[Picture]:
    """Return the plots that a suite asks for; one without data is left out. What is `named` is in colour."""
    return begin_plots(entries, results, render, named)()


def begin_plots(
    entries: Iterable[str | Mapping[str, Any]], results: SuiteResults, render: Render, named: Collection[str] = ()
) -> Callable[[], list[Picture]]:
    """Draw what `draw_plots` returns, and return a function that waits until it is rendered."""
    drawn: list[tuple[str, str, Callable[[], Files], pd.DataFrame]] = []
    listed = [_asked(entry) for entry in entries]
    _read_runs(results, listed)
    order = {name: results.methods[name] for name in results.order}
    best = best_first(results.aims) or list(order)
    for plot, title, where, options in listed:
        asked = results.where(where) if where else results
        if where and not len(asked.table):
            continue
        frame = color_contenders(plot, order, best, named).data(asked, **options)
        if not len(frame):
            continue
        files = render(partial(draw, plot, frame, results.metrics, results.differs))
        repeated = sum(other.partition("_")[0] == plot.name for other, *_ in drawn)
        drawn.append((f"{plot.name}_{repeated + 1}" if repeated else plot.name, title, files, frame))
    return lambda: [Picture(name, title, *files(), frame) for name, title, files, frame in drawn]


def draw(plot: Plot, frame: pd.DataFrame, metrics: MetricNames, differs: str = "") -> Files:
    """Draw these numbers, and return the figure's files; above it stands in what its experiment differs."""
    with house_style():
        figure = figure_of(plot, frame, metrics)
        if differs:
            words = f"{figure.get_suptitle()}\n{differs}".strip()
            figure.suptitle(words, x=0.01, ha="left", fontsize="small", parse_math=False)
        return files_of(figure)


def figure_of(plot: Plot, frame: pd.DataFrame, metrics: MetricNames) -> Figure:
    """Return the figure of a plot, with its legend; what it describes for seaborn is compiled in our style."""
    from matplotlib.figure import Figure

    drawn = plot.draw(frame, metrics)
    figure = drawn if isinstance(drawn, Figure) else _compiled(plot, drawn)
    if figure is not drawn or not figure.legends:
        add_legend(figure, plot.colors, "contender" in frame and not plot.in_color(frame).all())
    return figure


def _compiled(plot: Plot, described: so.Plot) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    described.theme(style_settings()).on(figure).plot()
    spec = figure.axes[0].get_subplotspec()
    rows, columns = (1, 1) if spec is None else spec.get_gridspec().get_geometry()
    figure.set_size_inches(columns * plot.panel[0], rows * plot.panel[1] + 0.2)
    for axis in figure.axes:
        axis.set_title(as_title(axis.get_title(loc="left"), plot.panel[0]))
    return figure


def _read_runs(results: SuiteResults, listed: Iterable[Asked]) -> None:
    """Read the runs once for all plots that follow runs along their steps."""
    followed = [
        plot.samples(results.where(where) if where else results, **options)
        for plot, _, where, options in listed
        if isinstance(plot, AlongTheRun)
    ]
    read_together(results, followed)


def _asked(entry: str | Mapping[str, Any]) -> Asked:
    """Return the plot that an entry names, its title, which runs it is drawn from, and its options."""
    options: dict[str, Any] = dict(entry) if isinstance(entry, Mapping) else {"plot": entry}
    if "plot" not in options:
        raise UserError(f"an entry of plots lacks the key plot: {options}")
    name, where, known = str(options.pop("plot")), options.pop("where", {}), plots()
    title = options.pop("title", None)
    if name not in known:
        raise unknown("plot", name, known)
    for option in options:
        if option not in known[name].options():
            raise unknown(f"option of plot {name}:", option, ["plot", "title", "where", *known[name].options()])
    return known[name](), str(title or known[name].title()), where, options
