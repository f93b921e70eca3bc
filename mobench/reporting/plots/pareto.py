"""Two metrics against each other: every configuration, and each contender's best trade-offs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from mobench.core.metric import Direction
from mobench.core.plot import Plot
from mobench.core.registry import register
from mobench.errors import UserError

from .panels import ACROSS, add_legend, draw_law, in_order, panels
from .style import method_styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mobench.core.plot import MetricNames, PlotResults


@register
class Pareto(Plot):
    """Two metrics against each other: mean over seeds of every configuration; lines join the best trade-offs."""

    def data(self, results: PlotResults, *, values: list[str] | None = None) -> pd.DataFrame:
        """Return a row per configuration with `x`, `y` and whether no other one of its contender is better in both.

        `values` are the two metrics, across and up; by default the first two objectives. Where these are the
        objectives and the problem knows its front, rows of the contender `front` have its points.
        """
        if values is not None and len(values) != 2:
            raise UserError(f"the plot pareto takes values: two metrics, not {values}")
        parts = []
        for instance, runs in results.done.groupby("instance", sort=False):
            problem = results.problems[str(instance)]
            objectives = [f"loss/{name}" for name in problem.objectives()[:2]]
            x, y = values or (objectives[1], objectives[0])
            if not {x, y} <= {*runs} or runs[[x, y]].dropna().empty:
                continue
            label = str(runs["instance_label"].iloc[0])
            means = runs.groupby(["contender", "method_label", "configuration"], sort=False)[[x, y]].mean().dropna()
            frame = means.reset_index().rename(columns={x: "x", y: "y"})
            better = [results.metrics[name].better or "min" for name in (x, y)]
            kept = [
                undominated(part[["x", "y"]].to_numpy(), better) for _, part in frame.groupby("contender", sort=False)
            ]
            frame = pd.concat(part for _, part in frame.groupby("contender", sort=False)).assign(
                best=np.concatenate(kept) if kept else []
            )
            front = problem.pareto_front(int(runs["seed"].min()))
            if front is not None and front.shape[1] == 2 and {x, y} == {*objectives}:
                places = [objectives.index(name) for name in (x, y)]
                known = pd.DataFrame(front[:, places], columns=["x", "y"]).assign(contender="front", best=True)
                frame = pd.concat([frame, known])
            parts.append(frame.assign(instance_label=label, x_metric=x, y_metric=y))
        if not parts:
            return pd.DataFrame()
        return in_order(pd.concat(parts, ignore_index=True), [*results.order, "front"])

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> Figure:
        """Draw one panel for each problem instance."""
        groups = list(frame.groupby("instance_label", sort=False))
        figure, axes = panels([str(label) for label, _ in groups], width=3.3, height=2.9)
        points = frame[frame["contender"] != "front"]
        styles = method_styles(points["contender"])
        for index, (axis, (_, part)) in enumerate(zip(axes, groups, strict=True)):
            front = part[part["contender"] == "front"].sort_values("x")
            draw_law(axis, front["x"], front["y"])
            for name, own in part[part["contender"] != "front"].groupby("contender", sort=False):
                style = styles[str(name)]
                best = own[own["best"].astype(bool)].sort_values("x")
                rest = own[~own["best"].astype(bool)]
                axis.plot(rest["x"], rest["y"], style.marker, color=style.color, alpha=0.35, markersize=4, zorder=2)
                axis.plot(
                    best["x"], best["y"], style.marker, linestyle=style.linestyle, color=style.color, linewidth=1.1,
                    markersize=5.5, zorder=3,
                )  # fmt: skip
            across, up = (metrics[str(part[name].iloc[0])] for name in ("x_metric", "y_metric"))
            axis.set(xlabel=across.axis, ylabel=up.axis if index % ACROSS == 0 else "")
        law = "Pareto front" if len(points) < len(frame) else ""
        add_legend(figure, points.assign(mean=points["x"]), law)
        return figure


def undominated(points: npt.NDArray[np.float64], better: list[Direction]) -> npt.NDArray[np.bool_]:
    """Return which points (n × 2) no other point is at least as good as in both, and better in one."""
    costs = points * [-1.0 if way == "max" else 1.0 for way in better]
    at_least = (costs[:, None] <= costs[None]).all(-1)
    ahead = (costs[:, None] < costs[None]).any(-1)
    kept: npt.NDArray[np.bool_] = np.logical_not((at_least & ahead).any(0))
    return kept
