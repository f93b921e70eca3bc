"""The primary's gradient norm at the end of a run, or another metric, against a setting of the problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from mobench.core.plot import Plot
from mobench.core.registry import register

from .gradient_norm import floored, spread
from .panels import add_legend, draw_lines, in_order, panels
from .style import method_styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mobench.scoring.metric_catalog import MetricCatalog
    from mobench.scoring.suite_results import SuiteResults


@register
class GradientNormEnd(Plot):
    """Gradient norm of the primary at the end: median and range over configurations and seeds."""

    name = "gradient-norm-end"

    def data(
        self, results: SuiteResults, *, setting: str = "problem.k", value: str = "primary_gradient_norm"
    ) -> pd.DataFrame:
        """Return the median and the range of a metric over configurations and seeds, against a setting."""
        if not all(results.has(column) for column in (setting, value)):
            return pd.DataFrame()
        table = results.panels_over(setting)
        rows = [
            {"panel": panel, "setting": setting, "value": value, "x": x, "contender": name}
            | spread(runs[value].tolist())
            for (panel, name, x), runs in table[table["status"] == "done"].groupby(["panel", "contender", setting])
        ]
        return in_order(pd.DataFrame(rows), results.order)

    def draw(self, frame: pd.DataFrame, metrics: MetricCatalog) -> Figure:
        groups = list(frame.groupby("panel"))
        figure, axes = panels([str(label) for label, _ in groups], width=3.6, height=3.0)
        styles = method_styles(frame["contender"])
        setting, value = (metrics[str(frame[name].iloc[0])] for name in ("setting", "value"))
        for index, (axis, (_, part)) in enumerate(zip(axes, groups, strict=True)):
            draw_lines(axis, floored(part), "x", styles)
            axis.set(yscale="log", xlabel=setting.meaning or setting.label, ylabel=value.axis if index == 0 else "")
            axis.set_xticks(sorted(part["x"].unique()))
        add_legend(figure, frame)
        return figure
