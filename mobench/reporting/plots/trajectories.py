"""Paths of methods in the plane, over the contours of the primary and the secondary objective."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from mobench.core.problem import VectorProblem
from mobench.core.streams import Streams

from .panels import in_order, panels
from .source import Source
from .style import method_styles

GRID = (97, 33)
"""Points of the contours across and up."""
MARGIN = 0.35
"""How far the contours reach beyond the paths."""
SECONDARY = "#4d7ea8"
OUTLINE = [withStroke(linewidth=3.6, foreground="white")]
"""Sets a path off from the shades below it."""


def data(source: Source) -> pd.DataFrame:
    """Return the paths (`kind` path: contender, run, step, x, y) and the losses on a grid (`kind` contour)."""
    places = source.table.set_index("id")[["contender", "instance_label", "seed"]].to_dict("index")
    rows = []
    for record in source.records():
        history = record.outcome.history
        if record.id in places and "point" in history:
            for step, point in zip(history["step"], history["point"], strict=True):
                if point is not None and len(point) == 2 and None not in point:
                    rows.append({"kind": "path", **places[record.id], "step": step, "x": point[0], "y": point[1]})
    if not rows:
        return pd.DataFrame()
    paths = in_order(pd.DataFrame(rows).sort_values(["instance_label", "seed", "step"]), source.order)
    return pd.concat([paths, _contours(source, paths)], ignore_index=True)


def draw(frame: pd.DataFrame) -> Figure:
    """Draw one panel for each contender: its paths over shades of the primary and lines of the secondary."""
    paths = frame[frame["kind"] == "path"]
    grid = frame[frame["kind"] == "contour"].sort_values(["y", "x"])
    groups = list(paths.groupby("contender", sort=False))
    figure, axes = panels([str(name) for name, _ in groups], width=2.35, height=1.62, shared=True)
    styles = method_styles(paths["contender"])
    for axis, (name, part) in zip(axes, groups, strict=True):
        _draw_contours(axis, grid)
        style = styles[str(name)]
        for _, path in part.groupby(["instance_label", "seed"], sort=False):
            axis.plot(path["x"], path["y"], color=style.color, linewidth=1.8, zorder=3, path_effects=OUTLINE)
            first, last = path.iloc[0], path.iloc[-1]
            axis.plot(first["x"], first["y"], "o", color="white", markeredgecolor="#222222", markersize=5, zorder=4)
            axis.plot(
                last["x"], last["y"], style.marker, color=style.color, markeredgecolor="white", markersize=8, zorder=5
            )
    handles = [
        Line2D([], [], marker="o", color="white", markeredgecolor="#222222", linestyle="none", label="start"),
        Line2D([], [], marker="o", color="#555555", linestyle="none", label="end"),
        Patch(facecolor="#c4c4c4", label="primary objective, faint is low"),
        Line2D([], [], color=SECONDARY, linestyle="dashed", linewidth=1.0, label="secondary objective"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def _contours(source: Source, paths: pd.DataFrame) -> pd.DataFrame:
    """Return the first two objectives of the first instance on a grid around all paths."""
    problem = source.problems[source.table["instance"].iloc[0]]
    assert isinstance(problem, VectorProblem), "only vector problems record points"
    sides = [
        np.linspace(paths[name].min() - MARGIN, paths[name].max() + MARGIN, count)
        for name, count in zip("xy", GRID, strict=True)
    ]
    x, y = (side.ravel() for side in np.meshgrid(*sides))
    constants = problem.constants(Streams(int(source.table["seed"].iloc[0])))
    batched = {name: value.expand(len(x), *value.shape) for name, value in constants.items()}
    losses = problem.values(torch.from_numpy(np.column_stack([x, y])), batched, 0).numpy()
    return pd.DataFrame({"kind": "contour", "x": x, "y": y, "primary": losses[:, 0], "secondary": losses[:, 1]})


def _draw_contours(axis: Axes, grid: pd.DataFrame) -> None:
    x, y = (np.sort(grid[name].unique()) for name in "xy")
    primary, secondary = (grid[name].to_numpy().reshape(len(y), len(x)) for name in ("primary", "secondary"))
    axis.contourf(x, y, np.log1p(primary - primary.min()), levels=12, cmap="Greys", alpha=0.4)
    axis.contour(x, y, secondary, levels=7, colors=SECONDARY, linewidths=0.7, linestyles="dashed")
    axis.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
    axis.grid(False)
