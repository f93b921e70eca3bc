"""Solutions that runs found, as pictures, with their distance from the true one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mobench.core.plot import MetricNames, Plot, PlotResults
from mobench.core.registry import register

from .drawing import in_order, panels, scaled_once

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BEST = 4
FAINTEST = 1e-4
"""Errors below this share of the solution's size are drawn alike."""
COLOR_SCALE = (0.05, 0.35, 0.9, 0.12)
"""Where the errors' scale stands in the free place beside the true solution: left, bottom, width, height."""


@register
class Solutions(Plot):
    """Solutions and errors of the best four, the baselines and the worst (selected configurations, first seed)."""

    reads = (("picture", "last"),)
    panel = (2.2, 1.9)

    def data(self, results: PlotResults, *, select: str = "validation_loss") -> pd.DataFrame:
        """Return the true solution and those of contenders, of the configuration with the smallest mean of `select`.

        Columns: `instance_label`, `contender` (empty for the true solution), `x`, `y`, `value`, `error`.
        """
        done = results.done
        if select not in done:
            return pd.DataFrame()
        means = done.groupby(["instance", "contender", "configuration"])[select].mean().dropna()
        chosen = means.loc[means.groupby(["instance", "contender"]).idxmin()].sort_values().reset_index()
        places = chosen.groupby("instance").cumcount()
        last = chosen.groupby("instance")["contender"].transform("size") - 1
        chosen = chosen[(places < BEST) | (places == last) | chosen["contender"].isin(self.kept)]
        at_seed = done[done["seed"] == done["seed"].min()].merge(chosen[["instance", "configuration"]])
        rows = {row["id"]: row for row in at_seed.to_dict("records")}
        frames = [_frame(results, instance) for instance in at_seed["instance"].unique()]
        for id_, history in results.histories(rows):
            found = next((picture for picture in reversed(history.get("picture", [])) if picture is not None), None)
            if found is not None:
                frames.append(_frame(results, rows[id_]["instance"], str(rows[id_]["contender"]), found))
        frames = [frame for frame in frames if len(frame)]
        if not frames:
            return pd.DataFrame()
        ordered = in_order(pd.concat(frames), ["", *chosen["contender"].drop_duplicates()])
        return ordered.sort_values("instance_label", kind="stable", ignore_index=True)

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> Figure:
        """Draw each solution and, beside it, the logarithm of its error."""
        several = frame["instance_label"].nunique() > 1
        drawn = []
        for (label, name), part in frame.groupby(["instance_label", "contender"], sort=False):
            before = f"{label}: " if several else ""
            drawn.append((f"{before}{name or 'true solution'}", label, part, "value"))
            drawn.append((f"{before}error" if name else "", label, part, "error" if name else ""))
        figure, axes = panels([title for title, *_ in drawn], self.panel, shared=not several)
        beside_true: list[Axes] = []
        with scaled_once(axes):
            for axis, (_, label, part, column) in zip(axes, drawn, strict=True):
                axis.grid(False)
                if not column:
                    axis.set_axis_off()
                    beside_true.append(axis)
                    continue
                grid = part.pivot(index="y", columns="x", values=column)
                true = frame[(frame["instance_label"] == label) & (frame["contender"] == "")]["value"]
                look = {"cmap": "viridis", "vmin": true.min(), "vmax": true.max()}
                shown = grid.to_numpy(dtype=np.float64)
                if column == "error":
                    shown = np.log10(np.maximum(shown, FAINTEST))
                    look = {"cmap": "magma", "vmin": np.log10(FAINTEST), "vmax": 0.0}
                extent = (part["x"].min(), part["x"].max(), part["y"].min(), part["y"].max())
                image = axis.imshow(
                    shown, extent=extent, origin="lower", aspect="auto", interpolation="bilinear", **look
                )
                if column == "error":
                    last = image
        for axis in beside_true if (frame["contender"] != "").any() else ():
            place = axis.inset_axes(COLOR_SCALE)
            figure.colorbar(last, cax=place, orientation="horizontal", ticks=[-4, -2, 0])
            place.set_title("log10 of error\n/ largest value", loc="center", fontsize="small")
        return figure


def _frame(
    results: PlotResults, instance: str, contender: str = "", found: list[list[float]] | None = None
) -> pd.DataFrame:
    """Return one picture as rows; the error is relative to the true solution's largest value."""
    true = results.problems[instance].picture()
    if true is None:
        return pd.DataFrame()
    values = true.values if found is None else np.array(found, dtype=np.float64)
    x, y = np.meshgrid(true.x, true.y)
    labels = results.table.drop_duplicates("instance").set_index("instance")["instance_label"]
    return pd.DataFrame(
        {
            "instance_label": labels[instance],
            "contender": contender,
            "x": x.ravel(),
            "y": y.ravel(),
            "value": values.ravel(),
            "error": np.abs(values - true.values).ravel() / np.abs(true.values).max(),
        }
    )
