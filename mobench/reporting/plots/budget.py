"""How hypervolume grows with the number of configurations tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from mobench.core.plot import Plot
from mobench.core.registry import register

from .panels import ACROSS, add_legend, draw_lines, in_order, panels
from .style import method_styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mobench.core.plot import MetricNames, PlotResults


@register
class Budget(Plot):
    """Expected hypervolume after a number of configurations, picked blindly."""

    def data(self, results: PlotResults) -> pd.DataFrame:
        """Return the expected hypervolume of m configurations, m = 1 … all; empty where no method was swept."""
        curves = results.budget_curves
        if not len(curves) or curves["tried"].max() < 2:
            return pd.DataFrame()
        return in_order(curves, results.order)

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> Figure:
        from matplotlib.ticker import MaxNLocator

        groups = list(frame.groupby("instance_label", sort=False))
        figure, axes = panels([str(label) for label, _ in groups])
        styles = method_styles(frame["contender"])
        for index, (axis, (_, part)) in enumerate(zip(axes, groups, strict=True)):
            draw_lines(axis, part, "tried", styles)
            axis.set(xlabel="configurations tried", ylabel="expected hypervolume" if index % ACROSS == 0 else "")
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        add_legend(figure, frame)
        return figure
