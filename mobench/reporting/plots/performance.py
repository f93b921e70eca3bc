"""Performance profiles: the share of contests in which a contender is within a factor of the best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from mobench.core.plot import Plot
from mobench.core.registry import register

from .panels import add_legend, in_order, panels
from .style import method_styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mobench.core.plot import MetricNames, PlotResults

WIDEST = 100.0
"""Ratios beyond are not drawn: who is a hundred times worse is as good as failed. The data has them."""


@register
class PerformanceProfile(Plot):
    """How often each method is within a factor of the best (performance profile)."""

    name = "performance-profile"

    def data(self, results: PlotResults) -> pd.DataFrame:
        """Return the profiles over the suite's contests; empty with fewer than two."""
        frame = results.performance
        return in_order(frame, results.order) if len(frame) and frame["contests"].iloc[0] > 1 else pd.DataFrame()

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> Figure:
        """Draw each profile as steps over a logarithmic factor, with a marker at its start and near its end."""
        from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

        widest = min(WIDEST, 1.15 * max(1.5, float(frame["ratio"].max())))
        suites, count = int(frame["suites"].iloc[0]), int(frame["contests"].iloc[0])
        blocks = int(frame["blocks"].iloc[0])
        of = f"{count} contests of {suites} suites" if suites > 1 else f"{count} contests"
        figure, (axis,) = panels([f"{of}, {blocks} pairs of contest and seed"], width=5.2, height=3.4)
        styles = method_styles(frame["contender"])
        spacing = min(0.035, 0.9 / len(styles))
        for place, (name, style) in enumerate(styles.items()):
            steps = frame[(frame["contender"] == name) & (frame["ratio"] <= widest)].sort_values("ratio")
            x, y = [*steps["ratio"], widest], [*steps["mean"], steps["mean"].iloc[-1]]
            axis.step(x, y, where="post", color=style.color, linestyle=style.linestyle)
            # Profiles often end at the same height: their markers stand side by side, not on top of each other.
            for at in (1.0, widest ** (1.0 - spacing * place)):
                height = steps.loc[steps["ratio"] <= at, "mean"].iloc[-1]
                axis.plot(
                    at, height, style.marker, color=style.color, markeredgecolor="white", markeredgewidth=0.5,
                    clip_on=False, zorder=4,
                )  # fmt: skip
        axis.set(
            xscale="log",
            xlim=(1.0, widest),
            ylim=(-0.02, 1.04),
            xlabel="factor to the best",
            ylabel="share of contests",
        )
        axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if widest <= 50 else (1.0,)))
        axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.xaxis.set_minor_formatter(NullFormatter())
        add_legend(figure, frame)
        return figure
