"""Hypervolume in frozen bounds: bars with error bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from mobench.core.plot import Plot
from mobench.core.registry import register

from .panels import ACROSS, in_order, panels, plain
from .style import method_styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mobench.core.plot import MetricNames

NARROW, WHOLE = 2.9, 6.0
"""The width of a panel in inches, and of a figure that has room for more: a page shows it as wide as a column."""


@register
class Hypervolume(Plot):
    """Hypervolume in frozen bounds."""

    def data(self, results: Any, *, form: str = "") -> pd.DataFrame:
        """Return the hypervolumes as in the report's table: of the form that ranks, or of the one that is named."""
        frame: pd.DataFrame = results.hypervolumes
        if not len(frame):
            return frame
        return in_order(frame[frame["form"] == form if form else frame["headline"]], results.order)

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> Figure:
        """Draw a bar for each contender, with its interval over seeds, one panel for each problem instance."""
        groups = list(frame.groupby("instance_label", sort=False))
        colors = {name: style.color for name, style in method_styles(frame["contender"]).items()}
        names = list(colors)
        width = max(NARROW, WHOLE / len(groups))
        figure, axes = panels([str(label) for label, _ in groups], width=width, height=0.9 + 0.22 * len(names))
        for index, (axis, (_, part)) in enumerate(zip(axes, groups, strict=True)):
            drawn = part.dropna(subset=["mean"])
            places = [names.index(name) for name in drawn["contender"]]
            axis.barh(places, drawn["mean"], color=[colors[name] for name in drawn["contender"]])
            known = part.dropna(subset=["low"])
            places = [names.index(name) for name in known["contender"]]
            spans = [known["mean"] - known["low"], known["high"] - known["mean"]]
            axis.errorbar(known["mean"], places, xerr=spans, fmt="none", ecolor="#333333", capsize=2.5, linewidth=1.1)
            axis.set(xlabel=str(part["form_label"].iloc[0]), ylim=(len(names) - 0.5, -0.5))
            axis.yaxis.grid(visible=False)
            axis.set_yticks(range(len(names)), [] if index % ACROSS else [plain(name) for name in names])
        return figure
