"""Accuracy of pruned networks against what was removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from mobench.core.plot import Plot
from mobench.core.registry import register

from .panels import add_legend, draw_lines, panels
from .style import method_styles
from .targets import selected_at_targets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mobench.core.plot import MetricNames, PlotResults


@register
class AccuracyReduction(Plot):
    """Accuracy of the selected configuration against parameters removed."""

    name = "accuracy-reduction"

    def data(self, results: PlotResults) -> pd.DataFrame:
        """Return the accuracy of the selected configuration at every reduction target."""
        frame = selected_at_targets(results)
        return frame[frame["target"] > 0] if len(frame) else frame

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> Figure:
        groups = list(frame.groupby("instance_label", sort=False))
        figure, axes = panels([str(label) for label, _ in groups], width=3.4, height=2.9)
        styles = method_styles(frame["contender"])
        for axis, (_, part) in zip(axes, groups, strict=True):
            draw_lines(axis, part, "reduction", styles)
            axis.set(xlabel="parameters removed (%)", ylabel=metrics["accuracy"].axis)
            axis.set_xticks(sorted(part["target"].unique()))
        add_legend(figure, frame)
        return figure
