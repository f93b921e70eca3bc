"""A metric at the end of a run against a setting of the problem, with the law that it is said to follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mobench.core.plot import Plot
from mobench.core.registry import register
from mobench.errors import unknown
from mobench.planning.expression import Expression

from .along_the_run import floored, spread
from .panels import add_legend, draw_law, draw_lines, in_order, panels
from .style import method_styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mobench.core.plot import MetricNames, PlotResults

SCALES = ("log", "linear")


@register
class EndBySetting(Plot):
    """Where runs end, against a setting of the problem: median and range over configurations and seeds."""

    name = "end-by-setting"

    def data(
        self,
        results: PlotResults,
        *,
        setting: str = "problem.k",
        value: str = "primary_gradient_norm",
        law: str = "",
        scale: str = "log",
    ) -> pd.DataFrame:
        """Return the median and the range of a metric over configurations and seeds, against a setting.

        `law` is a formula of the runs' columns, e.g. `1.536 * sqrt(problem.k - 1)`; `scale` is `log` or `linear`.
        """
        if scale not in SCALES:
            raise unknown("value for scale:", scale, SCALES)
        read = (setting, value, *(Expression(law).columns if law else ()))
        if not all(results.has(column) for column in read):
            return pd.DataFrame()
        table = results.panels_over(setting)
        done = table[table["status"] == "done"]
        rows = []
        for (panel, name, x), runs in done.groupby(["panel", "contender", setting]):
            row = {"panel": panel, "setting": setting, "value": value, "x": x, "contender": name, "scale": scale}
            if law:
                columns = {column: runs[column].tolist() for column in Expression(law).columns}
                row |= {"law": law, "law_value": float(np.nanmedian(Expression(law).of(columns)))}
            rows.append(row | spread(runs[value].tolist()))
        return in_order(pd.DataFrame(rows), results.order)

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> Figure:
        """Draw a panel for each problem, and the law as a dashed line."""
        groups = list(frame.groupby("panel"))
        figure, axes = panels([str(label) for label, _ in groups], width=3.6, height=3.0)
        styles = method_styles(frame["contender"])
        setting, value = (metrics[str(frame[name].iloc[0])] for name in ("setting", "value"))
        scale = str(frame["scale"].iloc[0])
        law = str(frame["law"].iloc[0]) if "law" in frame else ""
        for index, (axis, (_, part)) in enumerate(zip(axes, groups, strict=True)):
            draw_lines(axis, floored(part) if scale == "log" else part, "x", styles)
            if law:
                line = part.drop_duplicates("x").sort_values("x")
                draw_law(axis, line["x"], line["law_value"])
            axis.set(yscale=scale, xlabel=setting.meaning or setting.label, ylabel=value.axis if index == 0 else "")
            axis.set_xticks(sorted(part["x"].unique()))
        add_legend(figure, frame, law)
        return figure
