"""What a fixed configuration gives while one objective is rescaled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from mobench.core.plot import Plot
from mobench.core.registry import register
from mobench.scoring.indicators.summary import summarize

from .panels import add_legend, draw_lines, in_order, panels
from .style import method_styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mobench.core.plot import MetricNames, PlotResults


@register
class Scale(Plot):
    """What a fixed configuration gives while one objective is rescaled."""

    def data(self, results: PlotResults, *, value: str = "accuracy@90", setting: str = "problem.scale") -> pd.DataFrame:
        """Return one row per contender, configuration and value of the setting; nothing is selected."""
        if not all(results.has(column) for column in (setting, value)):
            return pd.DataFrame()
        table = results.panels_over(setting).rename(columns={setting: "scale"})
        frame = summarize(table, ["panel", "contender", "method_label", "scale", "configuration"], [value])
        return in_order(frame.sort_values("scale", kind="stable"), results.order).assign(setting=setting)

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> Figure:
        """Draw the value against the scale, a line for each configuration."""
        groups = list(frame.groupby("panel", sort=False))
        figure, axes = panels([str(label) for label, _ in groups], width=4.2, height=3.0)
        styles = method_styles(frame["contender"])
        setting, value = (metrics[str(frame[name].iloc[0])] for name in ("setting", "metric"))
        for axis, (_, part) in zip(axes, groups, strict=True):
            for _, configuration in part.groupby("method_label", sort=False):
                draw_lines(axis, configuration, "scale", styles)
            axis.set(xscale="log", xlabel=setting.meaning or setting.label, ylabel=value.axis)
        add_legend(figure, frame)
        return figure
