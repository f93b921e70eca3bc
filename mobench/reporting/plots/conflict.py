"""How much the gradients of primary and secondary objectives disagree along a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from mobench.core.registry import register

from .along_the_run import AlongTheRun

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mobench.core.plot import MetricNames, PlotResults


@register
class Conflict(AlongTheRun):
    """Conflict along the run: the smallest cosine between the primary's and a secondary's gradient."""

    logarithmic = False
    reads = (("cosines", "least"),)

    def data(self, results: PlotResults) -> pd.DataFrame:
        """Return the median and the range of min_j cos(g₁, g_j) at every sampled step of runs that saw gradients."""
        return self.curves(results)

    def number(self, value: Any) -> float | None:
        seen = [cosine for cosine in value if cosine is not None]
        return min(seen) if seen else None

    def label(self, frame: pd.DataFrame, metrics: MetricNames) -> str:
        return "smallest cos(g₁, gⱼ)"

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> Figure:
        """Draw the cosines with a line at 0, below which objectives are in conflict."""
        figure = super().draw(frame, metrics)
        for axis in figure.axes:
            axis.axhline(0.0, color="#8a8a8a", linewidth=1.0, zorder=0)
            axis.set_ylim(-1.05, 1.05)
        return figure
