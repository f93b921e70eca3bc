"""Paths of methods in the plane, over the contours of the primary and the secondary objective."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mobench.core.plot import OTHERS, MetricNames, Plot, PlotResults
from mobench.core.problem import VectorProblem
from mobench.core.registry import register
from mobench.core.streams import Streams

from .drawing import in_order, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GRID = 3200
"""About how many points the contours are computed from."""
MARGIN = 0.07
"""How far the contours reach beyond what is drawn, as a share of its width."""
FLATTEST, TALLEST = 0.3, 1.1
"""The smallest and the largest height of a panel, as a share of its width."""
PANEL, LEGEND = 2.35, 6.6
"""The width of a panel, and of the legend, in inches; with one or two panels they are wider, for the legend to fit."""
SECONDARY, FRONT, GREY = "#4d7ea8", "#111111", "#555555"


@register
class Trajectories(Plot):
    """Paths in the plane."""

    reads = (("point", "all"),)

    def data(self, results: PlotResults) -> pd.DataFrame:
        """Return the paths (`kind` path: contender, id, step, x, y), the losses on a grid (`kind` contour) and
        the Pareto-optimal points where they are known (`kind` front).
        """
        places = results.table.set_index("id")[["contender", "instance_label", "seed"]].to_dict("index")
        rows = []
        for id_, history in results.histories():
            if "point" in history:
                for step, point in zip(history["step"], history["point"], strict=True):
                    if point is not None and len(point) == 2 and None not in point:
                        place = {"kind": "path", **places[id_], "id": id_}
                        rows.append({**place, "step": step, "x": point[0], "y": point[1]})
        if not rows:
            return pd.DataFrame()
        paths = in_order(pd.DataFrame(rows).sort_values(["instance_label", "seed", "id", "step"]), results.order)
        return pd.concat([paths, *_landscape(results, paths)], ignore_index=True)

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> Figure:
        """Draw a panel for each contender in colour and one for all others, over shades of the primary objective."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch
        from matplotlib.patheffects import withStroke

        outline = [withStroke(linewidth=3.6, foreground="white")]  # sets a path off from the shades below it
        paths, front = (frame[frame["kind"] == kind] for kind in ("path", "front"))
        grid = frame[frame["kind"] == "contour"].sort_values(["y", "x"])
        colored = self.in_color(paths)
        groups = [(str(name), part) for name, part in paths[colored].groupby("contender", sort=False)]
        if not colored.all():
            groups.append((f"others ({paths[~colored]['contender'].nunique()})", paths[~colored]))
        tall = float(np.clip(np.ptp(grid["y"]) / np.ptp(grid["x"]), FLATTEST, TALLEST))
        larger = max(1.0, LEGEND / (PANEL * len(groups)))
        panel = (larger * PANEL, 0.55 + larger * 2.0 * tall)
        figure, axes = panels([name for name, _ in groups], panel, shared=True)
        for axis, (_, part) in zip(axes, groups, strict=True):
            _draw_contours(axis, grid)
            axis.plot(front["x"], front["y"], color=FRONT, linewidth=2.2, zorder=2, path_effects=outline)
            for _, path in part.groupby("id", sort=False):
                name = str(path["contender"].iloc[0])
                grey = self.colors.get(name, OTHERS) == OTHERS
                color, marker, size = (GREY, "o", 4.0) if grey else (self.colors[name], self.markers[name], 8.0)
                strength: dict[str, Any] = {"linewidth": 0.8} if grey else {"linewidth": 1.8, "path_effects": outline}
                (x, y), (x_end, y_end) = path[["x", "y"]].iloc[0], path[["x", "y"]].iloc[-1]
                axis.plot(path["x"], path["y"], color=color, zorder=3, **strength)
                axis.plot(x, y, "o", color="white", markeredgecolor="#222222", markersize=5, zorder=4)
                axis.plot(x_end, y_end, marker, color=color, markeredgecolor="white", markersize=size, zorder=5)
        handles = [
            Line2D([], [], marker="o", color="white", markeredgecolor="#222222", linestyle="none", label="start"),
            Line2D([], [], marker="o", color=GREY, linestyle="none", label="end"),
            Patch(facecolor="#c4c4c4", label="primary objective, faint is low"),
            Line2D([], [], color=SECONDARY, linestyle="dashed", linewidth=1.0, label="secondary objective"),
            *([Line2D([], [], color=FRONT, linewidth=2.2, label="Pareto-optimal")] if len(front) else []),
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
        return figure


def _landscape(results: PlotResults, paths: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the first two objectives of the first instance around all paths, and its Pareto-optimal points."""
    import torch

    first = results.table.iloc[0]
    problem = results.problems[first["instance"]]
    assert isinstance(problem, VectorProblem), "only vector problems record points"
    optimal = problem.pareto_set(int(first["seed"]))
    front = pd.DataFrame(np.empty((0, 2)) if optimal is None else optimal, columns=["x", "y"]).assign(kind="front")
    drawn = pd.concat([paths, front])[["x", "y"]].to_numpy(dtype=np.float64)
    low, high = drawn.min(0), drawn.max(0)
    margin = MARGIN * float((high - low).max())
    width, height = (high - low + 2 * margin).tolist()
    counts = [math.ceil(math.sqrt(GRID * width / height)), math.ceil(math.sqrt(GRID * height / width))]
    sides = [np.linspace(low[axis] - margin, high[axis] + margin, counts[axis]) for axis in (0, 1)]
    x, y = (side.ravel() for side in np.meshgrid(*sides))
    constants = problem.constants(Streams(int(first["seed"])))
    batched = {name: value.expand(len(x), *value.shape) for name, value in constants.items()}
    losses = problem.values(torch.from_numpy(np.column_stack([x, y])), batched, 0).numpy()
    grid = pd.DataFrame({"kind": "contour", "x": x, "y": y, "primary": losses[:, 0], "secondary": losses[:, 1]})
    return [grid, front] if len(front) else [grid]


def _draw_contours(axis: Axes, grid: pd.DataFrame) -> None:
    x, y = (np.sort(grid[name].unique()) for name in "xy")
    primary, secondary = (grid[name].to_numpy().reshape(len(y), len(x)) for name in ("primary", "secondary"))
    axis.contourf(x, y, np.log1p(primary - primary.min()), levels=12, cmap="Greys", alpha=0.4)
    axis.contour(x, y, secondary, levels=7, colors=SECONDARY, linewidths=0.7, linestyles="dashed")
    axis.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
    axis.grid(False)
