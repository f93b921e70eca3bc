"""Panels, lines and legends of the plots that matplotlib draws, and the legend of all."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pandas as pd

from mobench.core.plot import OTHERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mobench.core.plot import Plot

PANELS_ACROSS = 4
LAW = "#555555"
"""The colour of what a formula or a true front says."""
ENTRY_HEIGHT, LEGEND_MARGINS = 0.2, 0.25
"""Inches that an entry of a legend takes, and that are free around them all; what would not fit stands in columns."""


def as_text(text: str) -> str:
    """Return a text that matplotlib draws as it is, instead of setting what stands between dollars as a formula."""
    return text.replace("$", r"\$")


def as_title(text: str, width: float) -> str:
    """Return the title of a panel that is so many inches wide, in several lines if need be."""
    return as_text(textwrap.fill(text, round(11 * width)))


def panels(
    titles: Sequence[str], size: tuple[float, float] = (3.1, 2.6), *, across: int = PANELS_ACROSS, shared: bool = False
) -> tuple[Figure, list[Axes]]:
    """Return a figure with one titled panel for each title, row by row; `shared` panels have the same axes."""
    from matplotlib.figure import Figure

    columns = min(across, len(titles))
    rows = math.ceil(len(titles) / columns)
    figure = Figure(figsize=(columns * size[0], rows * size[1] + 0.2), layout="constrained")
    axes: list[Axes] = list(figure.subplots(rows, columns, squeeze=False, sharex=shared, sharey=shared).flat)
    for index, spare in enumerate(axes[len(titles) :], len(titles)):
        axes[index - columns].tick_params(labelbottom=True)
        spare.remove()
    for axis, title in zip(axes, titles, strict=False):
        axis.set_title(as_title(title, size[0]))
    return figure, axes[: len(titles)]


@contextmanager
def scaled_once(axes: Iterable[Axes]) -> Iterator[None]:
    """Let what is drawn set the limits of panels that share their axes once, at the end, and not at every line."""
    listed = list(axes)
    for axis in listed:
        axis.autoscale(enable=False)
    yield
    for axis in listed:
        axis.autoscale(enable=True)


def panels_of_lines(plot: Plot, frame: pd.DataFrame, x: str, by: str = "instance_label") -> tuple[Figure, list[Axes]]:
    """Draw `mean` against `x`, a panel for each value of `by`: what `Plot.lines` describes, in a third of the time."""
    groups = list(frame.groupby(by, sort=False))
    figure, axes = panels([str(label) for label, _ in groups], plot.panel)
    for axis, (_, part) in zip(axes, groups, strict=True):
        grey = broken_lines(part[~plot.in_color(part)].sort_values(x, kind="stable"))
        if len(grey):
            axis.plot(grey[x], grey["mean"], color=OTHERS, linewidth=0.8)
        alone = grey[~grey["contender"].duplicated(keep=False)] if len(grey) else grey
        if len(alone):
            axis.plot(alone[x], alone["mean"], ".", color=OTHERS)
        for name, line in part[plot.in_color(part)].sort_values(x, kind="stable").groupby("contender", sort=False):
            color, marker = plot.colors[str(name)], plot.markers[str(name)]
            axis.fill_between(line[x], line["low"], line["high"], color=color, alpha=0.13, linewidth=0)
            axis.plot(
                line[x], line["mean"], color=color, marker=marker, markevery=max(1, len(line) // 8),
                markeredgecolor="white", markeredgewidth=0.6, label=str(name),
            )  # fmt: skip
    return figure, axes


def broken_lines(frame: pd.DataFrame) -> pd.DataFrame:
    """Return all contenders' rows below each other with a gap after each, to be drawn as one line."""
    ordered = frame.sort_values("contender", kind="stable", ignore_index=True)
    last = ordered.index[~ordered["contender"].duplicated(keep="last")]
    return ordered.reindex(sorted([*ordered.index, *(last + 0.5)]))


def add_legend(figure: Figure, colors: Mapping[str, str], others: bool) -> None:
    """Put one legend of all labelled artists to the right of all panels; contenders in grey share one entry."""
    from matplotlib.lines import Line2D

    found: dict[str, Any] = {}
    for legend in list(figure.legends):  # made by seaborn
        found |= {text.get_text(): shown for text, shown in zip(legend.texts, legend.legend_handles, strict=True)}
        figure.legends.remove(legend)
    for axis in figure.axes:
        found |= {label: shown for shown, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    order = {name: place for place, name in enumerate(colors)}
    entries = {name: found[name] for name in sorted(found, key=lambda name: order.get(name, len(order)))}
    if not entries or any(axis.get_legend() for axis in figure.axes):
        return
    if others and entries.keys() & order.keys():
        entries["others"] = Line2D([], [], color=OTHERS, linewidth=0.8)
    if figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")
    columns = math.ceil(len(entries) * ENTRY_HEIGHT / (figure.get_figheight() - LEGEND_MARGINS))
    figure.set_figwidth(figure.get_figwidth() + columns * (0.6 + 0.085 * max(map(len, entries))))
    figure.legend(list(entries.values()), [as_text(name) for name in entries], loc="outside right upper", ncols=columns)


def in_order(frame: pd.DataFrame, order: Iterable[str]) -> pd.DataFrame:
    """Return the frame with its contenders in the given order."""
    places = {name: place for place, name in enumerate(order)}
    return frame.sort_values("contender", key=lambda names: names.map(places), kind="stable", ignore_index=True)
