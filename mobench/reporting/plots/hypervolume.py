"""Hypervolume: bars with error bars, and how it grows with the number of configurations tried."""

from __future__ import annotations

import pandas as pd
import seaborn
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mobench.scoring.scores import budget_curves

from .panels import ACROSS, add_legend, draw_lines, in_order, panels, plain
from .source import Source
from .style import method_styles


def data(source: Source) -> pd.DataFrame:
    """Return the hypervolume in frozen bounds, as in the report's table."""
    return _form(source, "frozen")


def paper_data(source: Source) -> pd.DataFrame:
    """Return the hypervolume in the paper's form, as in the report's table."""
    return _form(source, "paper")


def draw(frame: pd.DataFrame) -> Figure:
    """Draw a bar for each contender, with its interval over seeds, one panel for each problem instance."""
    groups = list(frame.groupby("instance_label", sort=False))
    colors = {name: style.color for name, style in method_styles(frame["contender"]).items()}
    names = list(colors)
    figure, axes = panels([str(label) for label, _ in groups], width=2.9, height=0.9 + 0.22 * len(names))
    for index, (axis, (_, part)) in enumerate(zip(axes, groups, strict=True)):
        seaborn.barplot(
            part, x="mean", y="contender", hue="contender", order=names, palette=colors, ax=axis, saturation=1.0,
            legend=False,
        )  # fmt: skip
        known = part.dropna(subset=["low"])
        places = [names.index(name) for name in known["contender"]]
        spans = [known["mean"] - known["low"], known["high"] - known["mean"]]
        axis.errorbar(known["mean"], places, xerr=spans, fmt="none", ecolor="#333333", capsize=2.5, linewidth=1.1)
        axis.set(xlabel="hypervolume", ylabel="")
        axis.set_yticks(range(len(names)), [] if index % ACROSS else [plain(name) for name in names])
    return figure


def budget_data(source: Source) -> pd.DataFrame:
    """Return the expected hypervolume of m configurations picked blindly, m = 1 … all; empty where nobody swept."""
    curves = budget_curves(source)
    if not len(curves) or curves["tried"].max() < 2:
        return pd.DataFrame()
    return in_order(curves, source.order)


def draw_budget(frame: pd.DataFrame) -> Figure:
    """Draw the expected hypervolume against the number of configurations tried."""
    groups = list(frame.groupby("instance_label", sort=False))
    figure, axes = panels([str(label) for label, _ in groups])
    styles = method_styles(frame["contender"])
    for index, (axis, (_, part)) in enumerate(zip(axes, groups, strict=True)):
        draw_lines(axis, part, "tried", styles)
        axis.set(xlabel="configurations tried", ylabel="expected hypervolume" if index % ACROSS == 0 else "")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    add_legend(figure, frame)
    return figure


def _form(source: Source, form: str) -> pd.DataFrame:
    frame = source.hypervolumes
    return in_order(frame[frame["form"] == form], source.order) if len(frame) else frame
