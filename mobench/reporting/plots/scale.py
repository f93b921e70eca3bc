"""What a fixed configuration gives while one objective is rescaled."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from mobench.scoring.indicators.summary import summarize

from .panels import add_legend, draw_lines, in_order, label_of, panels
from .source import Source
from .style import method_styles


def data(source: Source, *, value: str = "accuracy@90", setting: str = "problem.scale") -> pd.DataFrame:
    """Return one row per contender, configuration and value of the setting; nothing is selected."""
    if not all(source.has(column) for column in (setting, value)):
        return pd.DataFrame()
    table = source.panels_over(setting).rename(columns={setting: "scale"})
    frame = summarize(table, ["panel", "contender", "method_label", "scale", "configuration"], [value])
    return in_order(frame.sort_values("scale", kind="stable"), source.order).assign(setting=setting)


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the value against the scale, a line for each configuration."""
    groups = list(frame.groupby("panel", sort=False))
    figure, axes = panels([str(label) for label, _ in groups], width=4.2, height=3.0)
    styles = method_styles(frame["contender"])
    for axis, (_, part) in zip(axes, groups, strict=True):
        for _, configuration in part.groupby("method_label", sort=False):
            draw_lines(axis, configuration, "scale", styles)
        axis.set(xscale="log", xlabel=f"{str(frame['setting'].iloc[0]).partition('.')[2]} of the secondary objective")
        axis.set_ylabel(label_of(str(frame["metric"].iloc[0])))
    add_legend(figure, frame)
    return figure
