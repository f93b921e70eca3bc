"""Solutions that runs found, as pictures, with their distance from the true one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mobench.core.plot import Plot
from mobench.core.registry import register

from .panels import in_order, panels, scaled_once

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mobench.core.plot import MetricNames, PlotResults

FAINTEST = 1e-4
"""Errors below this share of the solution's size are drawn alike."""
COLOR_SCALE = (0.05, 0.35, 0.9, 0.12)
"""Where the errors' scale stands in the free place beside the true solution: left, bottom, width, height."""


@register
class Solutions(Plot):
    """Solutions and errors of the selected configurations (first seed)."""

    reads = (("picture", "last"),)

    def data(self, results: PlotResults, *, select: str = "validation_loss") -> pd.DataFrame:
        """Return the true solution and each contender's, of the configuration with the smallest mean of `select`.

        Columns: `instance_label`, `contender` (empty for the true solution), `x`, `y`, `value`, `error`.
        """
        done = results.done
        if select not in done:
            return pd.DataFrame()
        seed = int(done["seed"].min())
        means = done.groupby(["instance", "contender", "configuration"])[select].mean()
        chosen = set(means.groupby(["instance", "contender"]).idxmin().map(lambda key: (key[0], key[2])))
        at_seed = done[done["seed"] == seed]
        rows = {
            row["id"]: row for row in at_seed.to_dict("records") if (row["instance"], row["configuration"]) in chosen
        }
        frames = []
        for instance in dict.fromkeys(row["instance"] for row in rows.values()):
            frames.append(_frame(results, instance))
        for id_, history in results.histories(rows):
            found = next((picture for picture in reversed(history.get("picture", [])) if picture is not None), None)
            if found is not None:
                frames.append(_frame(results, rows[id_]["instance"], str(rows[id_]["contender"]), found))
        frames = [frame for frame in frames if len(frame)]
        if not frames:
            return pd.DataFrame()
        return in_order(pd.concat(frames, ignore_index=True), ["", *results.order]).sort_values(
            "instance_label", kind="stable", ignore_index=True
        )

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> Figure:
        """Draw the true solution, then for each contender its solution and, beside it, the logarithm of its error."""
        several = frame["instance_label"].nunique() > 1
        groups = []
        for (label, name), part in frame.groupby(["instance_label", "contender"], sort=False):
            before = f"{label}: " if several else ""
            groups.append((f"{before}{name or 'true solution'}", label, part, "value"))
            groups.append((f"{before}error" if name else "", label, part, "error" if name else ""))
        titles = [title for title, *_ in groups]
        figure, axes = panels(titles, width=2.2, height=1.9, shared=not several)
        beside_true: list[Axes] = []
        with scaled_once(axes):
            for axis, (_, label, part, column) in zip(axes, groups, strict=True):
                axis.grid(False)
                if not column:
                    axis.set_axis_off()
                    beside_true.append(axis)
                    continue
                grid = part.pivot(index="y", columns="x", values=column)
                true = frame[(frame["instance_label"] == label) & (frame["contender"] == "")]["value"]
                across, up = grid.columns.to_numpy(dtype=np.float64), grid.index.to_numpy(dtype=np.float64)
                look = {"cmap": "viridis", "vmin": true.min(), "vmax": true.max()}
                shown = grid.to_numpy(dtype=np.float64)
                if column == "error":
                    shown = np.log10(np.maximum(shown, FAINTEST))
                    look = {"cmap": "magma", "vmin": np.log10(FAINTEST), "vmax": 0.0}
                image = axis.imshow(
                    shown,
                    extent=(across[0], across[-1], up[0], up[-1]),
                    origin="lower",
                    aspect="auto",
                    interpolation="bilinear",
                    **look,
                )
                if column == "error":
                    last = image
        if (frame["contender"] != "").any():
            for axis in beside_true:
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
