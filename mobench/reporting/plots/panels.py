"""Panels, legends and lines with bands: what all plots share."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from mobench.core.about import Look

from .style import method_styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mobench.core.metric import Metric

ACROSS = 4
"""How many panels stand side by side."""
LAW_COLOR = "#555555"
PREFIXES = {"B": {"Mi": 2.0**20, "Ki": 2.0**10}, "FLOPs": {"G": 1e9, "M": 1e6, "k": 1e3}}
"""By unit, the largest first."""
ENTRY_HEIGHT, LEGEND_MARGINS = 0.2, 0.25
"""Inches that an entry of a legend takes, and that are free around them all; what would not fit stands in columns."""


def plain(text: str) -> str:
    """Return a text that matplotlib draws as it is, instead of setting what stands between dollars as a formula."""
    return text.replace("$", r"\$")


def panels(
    titles: Sequence[str], *, across: int = ACROSS, width: float = 3.1, height: float = 2.6, shared: bool = False
) -> tuple[Figure, list[Axes]]:
    """Return a figure with one titled panel for each title, row by row; `shared` panels have the same axes."""
    from matplotlib.figure import Figure

    columns = min(across, len(titles))
    rows = math.ceil(len(titles) / columns)
    figure = Figure(figsize=(columns * width, rows * height + 0.2), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=shared, sharey=shared)
    axes: list[Axes] = list(grid.flat)
    for index, spare in enumerate(axes[len(titles) :], len(titles)):
        axes[index - columns].tick_params(labelbottom=True)
        spare.remove()
    for axis, title in zip(axes, titles, strict=False):
        axis.set_title(plain(textwrap.fill(title, round(11 * width))))
        axis.spines[["top", "right"]].set_visible(False)
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


def add_legend(figure: Figure, frame: pd.DataFrame, law: str = "") -> None:
    """Put one legend to the right of all panels; a method without any number is listed as failed.

    A `law` is the name of a dashed line that `draw_law` drew.
    """
    from matplotlib.lines import Line2D

    alive = set(frame.loc[frame["mean"].notna(), "contender"])
    handles = [
        Line2D(
            [], [], color=style.color, marker=style.marker, linestyle=style.linestyle,
            label=plain(name if name in alive else f"{name} (failed)"),
        )
        for name, style in method_styles(frame["contender"]).items()
    ]  # fmt: skip
    if law:
        handles.append(Line2D([], [], color=LAW_COLOR, linestyle="--", label=plain(law)))
    longest = max(len(str(handle.get_label())) for handle in handles)
    columns = math.ceil(len(handles) * ENTRY_HEIGHT / (figure.get_figheight() - LEGEND_MARGINS))
    figure.set_figwidth(figure.get_figwidth() + columns * (0.6 + 0.085 * longest))
    figure.legend(handles=handles, loc="outside right upper", ncols=columns)


def draw_lines(axis: Axes, frame: pd.DataFrame, x: str, styles: Mapping[str, Look]) -> None:
    """Draw `mean` against `x` as one line per contender, with a band from `low` to `high`."""
    for name, part in frame.dropna(subset=[x, "mean"]).groupby("contender", sort=False):
        ordered, style = part.sort_values([x, "mean"]), styles[str(name)]
        axis.plot(
            ordered[x], ordered["mean"], color=style.color, marker=style.marker, linestyle=style.linestyle,
            markeredgecolor="white", markeredgewidth=0.75,
        )  # fmt: skip
    for name, part in frame.dropna(subset=["low", "high"]).groupby("contender", sort=False):
        ordered = part.sort_values(x)
        color = styles[str(name)].color
        axis.fill_between(ordered[x], ordered["low"], ordered["high"], color=color, alpha=0.15, linewidth=0)


def draw_law(axis: Axes, x: Iterable[float], y: Iterable[float]) -> None:
    """Draw what a formula says as a dashed line."""
    axis.plot(list(x), list(y), "--", color=LAW_COLOR, linewidth=1.2, zorder=5)


def in_order(frame: pd.DataFrame, order: Iterable[str]) -> pd.DataFrame:
    """Return the frame with its contenders in the given order."""
    places = {name: place for place, name in enumerate(order)}
    return frame.sort_values("contender", key=lambda names: names.map(places), kind="stable", ignore_index=True)


def in_few_digits(metric: Metric, largest: float) -> tuple[float, Metric]:
    """Return what to divide a metric by for it to have few digits, and the metric in that unit."""
    prefixes = PREFIXES.get(metric.unit, {"": 1.0})
    prefix = next((prefix for prefix, factor in prefixes.items() if largest >= factor), [*prefixes][-1])
    return prefixes[prefix], replace(metric, unit=f"{prefix}{metric.unit}")
