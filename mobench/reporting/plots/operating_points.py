"""Operating points on the Pareto front while one objective is rescaled and every knob stays fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from mobench.core.plot import Plot
from mobench.core.registry import register

from .panels import ACROSS, panels
from .style import method_styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mobench.core.plot import MetricNames, PlotResults


@register
class OperatingPoints(Plot):
    """Operating points on the front while one objective is rescaled (first seed)."""

    name = "operating-points"

    def data(self, results: PlotResults, *, setting: str = "problem.scale") -> pd.DataFrame:
        """Return end points (`kind` point) and the true front (`kind` front) of the first seed.

        `x` is the second hypervolume metric, `y` the first, `scale` the value of the setting. Empty where
        the problem does not know its front, or has more than two objectives.
        """
        table = results.table
        if not results.has(setting):
            return pd.DataFrame()
        problem = results.problems[table["instance"].iloc[0]]
        seed = int(table["seed"].min())
        front, metrics = problem.pareto_front(seed), problem.hypervolume_metrics()
        if front is None or len(metrics) != 2:
            return pd.DataFrame()
        done = table[(table["status"] == "done") & (table["seed"] == seed)]
        names = {"x": metrics[1], "y": metrics[0], "scale": setting}
        points = done.assign(kind="point", **{name: done[column] for name, column in names.items()})
        kept = points[["kind", "contender", "method_label", "seed", "scale", "x", "y"]]
        ordered = pd.concat([kept[kept["contender"] == name].sort_values("scale") for name in results.order])
        curve = pd.DataFrame({"kind": "front", "seed": seed, "x": front[:, 1], "y": front[:, 0]})
        both = pd.concat([ordered, curve], ignore_index=True)
        return both.assign(x_metric=metrics[1], y_metric=metrics[0], setting=setting)

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> Figure:
        """Draw one panel for each contender: its end points on the front, coloured by scale."""
        from matplotlib.colors import LogNorm

        points, front = (frame[frame["kind"] == kind] for kind in ("point", "front"))
        groups = list(points.groupby("contender", sort=False))
        figure, axes = panels([str(name) for name, _ in groups], height=2.5, width=2.7)
        styles = method_styles(points["contender"])
        norm = LogNorm(points["scale"].min(), points["scale"].max())
        across, up, setting = (metrics[str(frame[name].iloc[0])] for name in ("x_metric", "y_metric", "setting"))
        for index, (axis, (name, part)) in enumerate(zip(axes, groups, strict=True)):
            axis.plot(front["x"], front["y"], color="#8a8a8a", linewidth=1.2, zorder=1)
            shown = axis.scatter(
                part["x"], part["y"], c=part["scale"], norm=norm, cmap="viridis", marker=styles[str(name)].marker,
                s=42, edgecolor="#8a8a8a", linewidth=0.7, zorder=2,
            )  # fmt: skip
            axis.set(xlabel=across.axis, ylabel=up.axis if index % ACROSS == 0 else "")
        figure.colorbar(shown, ax=axes, label=setting.meaning or setting.label, pad=0.01)
        return figure
