"""Plots of results, one class in each file: numbers from a suite's results, and a figure from these numbers.

A suite says which it wants: `plots: [hypervolume, {plot: scale, value: secondary}]`. Beside `plot`, an entry may
have `where` (only runs whose columns have these values) and the options of the plot. Matplotlib and seaborn are
imported when the first figure is drawn, so that names and options can be checked at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from mobench.core.plot import Plot
from mobench.core.registry import plots
from mobench.errors import UserError, unknown
from mobench.reporting.rendering import Files, Picture, Render, at_once, files_of

from .along_the_run import AlongTheRun
from .samples import read_together
from .style import house_style
from .theme import dark

if TYPE_CHECKING:
    import pandas as pd

    from mobench.scoring.catalog import MetricCatalog
    from mobench.scoring.results import SuiteResults

Asked = tuple[Plot, str, Mapping[str, Any], dict[str, Any]]
"""A plot, its title, which runs it is drawn from, and its options."""

__all__ = ["begin_plots", "dark", "draw", "draw_plots", "house_style"]


def draw_plots(
    entries: Iterable[str | Mapping[str, Any]], results: SuiteResults, render: Render = at_once
) -> list[Picture]:
    """Return the plots that a suite asks for; one without data is left out."""
    return begin_plots(entries, results, render)()


def begin_plots(
    entries: Iterable[str | Mapping[str, Any]], results: SuiteResults, render: Render, dpi: float | None = None
) -> Callable[[], list[Picture]]:
    """Draw what `draw_plots` returns, and return a function that waits until it is rendered."""
    drawn: list[tuple[str, str, Callable[[], Files], pd.DataFrame]] = []
    listed = [_asked(entry) for entry in entries]
    _read_runs(results, listed)
    for plot, title, where, options in listed:
        asked = results.where(where) if where else results
        if where and not len(asked.table):
            continue
        frame = plot.data(asked, **options)
        if not len(frame):
            continue
        files = render(partial(draw, plot, frame, results.metrics, results.differs, dpi))
        repeated = sum(other.partition("_")[0] == plot.name for other, *_ in drawn)
        drawn.append((f"{plot.name}_{repeated + 1}" if repeated else plot.name, title, files, frame))
    return lambda: [Picture(name, title, *files(), frame) for name, title, files, frame in drawn]


def draw(plot: Plot, frame: pd.DataFrame, metrics: MetricCatalog, differs: str = "", dpi: float | None = None) -> Files:
    """Draw these numbers, and return the figure's files; above it stands in what its experiment differs."""
    with house_style():
        figure = plot.draw(frame, metrics)
        if differs:
            words = f"{figure.get_suptitle()}\n{differs}".strip()
            figure.suptitle(words, x=0.01, ha="left", fontsize="small", parse_math=False)
        return files_of(figure, dpi)


def _read_runs(results: SuiteResults, listed: Iterable[Asked]) -> None:
    """Read the runs once for all plots that follow runs along their steps."""
    several = []
    for plot, _, where, options in listed:
        if isinstance(plot, AlongTheRun):
            plot.take(**options)
            several.append(plot.samples(results.where(where) if where else results))
    read_together(results, several)


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
