"""Accuracy of pruned networks against what they cost to run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from mobench.core.plot import Plot
from mobench.core.registry import register
from mobench.errors import unknown

from .panels import add_legend, in_few_digits, panels
from .style import method_styles
from .targets import COSTS, natively_pruned, selected_at_targets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mobench.core.plot import MetricNames, PlotResults


@register
class AccuracyCost(Plot):
    """Accuracy against latency, file size and FLOPs (stars: unpruned)."""

    name = "accuracy-cost"

    def data(self, results: PlotResults, *, at: str = "targets") -> pd.DataFrame:
        """Return accuracies with their costs.

        At the `targets`, and unpruned, those of the selected configuration; with `native` those of every configuration
        without the filters that training itself made negligible, in the order of the swept knob.
        """
        if at not in ("targets", "native"):
            raise unknown("value for at:", at, ("targets", "native"))
        return selected_at_targets(results) if at == "targets" else natively_pruned(results)

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> Figure:
        """Draw a line from target to target, and a star for the unpruned network."""
        from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

        costs = [cost for cost in COSTS if cost in frame]
        groups = list(frame.groupby("instance_label", sort=False))
        titles = [str(label) if cost == costs[0] else "" for label, _ in groups for cost in costs]
        figure, axes = panels(titles, across=len(costs), height=2.8)
        for index, axis in enumerate(axes):
            (_, part), cost = groups[index // len(costs)], costs[index % len(costs)]
            factor, shown = in_few_digits(metrics[cost], float(part[cost].max()))
            for name, style in method_styles(frame["contender"]).items():
                line = part[(part["contender"] == name) & part["mean"].notna()].sort_values("target", kind="stable")
                x, y = line[cost] / factor, line["mean"]
                spans = [(y - line["low"]).fillna(0.0), (line["high"] - y).fillna(0.0)]
                # Latencies of small networks are noisy: a thick line from one to the next would be all there is to see.
                axis.errorbar(
                    x, y, yerr=spans, color=style.color, marker=style.marker, linestyle=style.linestyle,
                    markeredgecolor="white", markeredgewidth=0.5, elinewidth=1.0,
                    linewidth=0.5 if cost == "latency_ms" else 1.3,
                )  # fmt: skip
                dense = line["target"] == 0
                axis.plot(x[dense], y[dense], "*", color=style.color, markersize=14, markeredgecolor="white", zorder=5)
            if part[cost].max() > 5 * part[cost].min():
                axis.set_xscale("log")
                axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
                axis.xaxis.set_minor_formatter(NullFormatter())
            axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
            axis.set(xlabel=shown.axis, ylabel=metrics["accuracy"].axis if cost == costs[0] else "")
        add_legend(figure, frame)
        return figure
