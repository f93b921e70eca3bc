"""The primary's gradient norm: along a run, and at its end against the number of objectives."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .panels import add_legend, draw_lines, in_order, label_of, panels
from .source import Source
from .style import method_styles

FLOOR = 1e-16
"""Smaller norms are drawn here: a logarithmic axis has no zero, and below is rounding."""


def data(source: Source) -> pd.DataFrame:
    """Return the median and the range of ‖∇L₁‖ over configurations and seeds, at every sampled step."""
    rows = source.table.set_index("id")[["instance_label", "contender"]]
    places = {str(id_): (row["instance_label"], row["contender"]) for id_, row in rows.iterrows()}
    norms: defaultdict[tuple[str, str, int], list[float]] = defaultdict(list)
    for record in source.records():
        history = record.outcome.history
        if record.id in places and "gradient_norms" in history:
            for step, values in zip(history["step"], history["gradient_norms"], strict=True):
                if values is not None and values[0] is not None:
                    norms[(*places[record.id], step)].append(values[0])
    frame = pd.DataFrame([_spread(key, values) for key, values in norms.items()])
    return in_order(frame.sort_values("step"), source.order) if len(frame) else frame


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the median norm against the step, with a band from the smallest to the largest."""
    groups = list(frame.groupby("instance_label"))
    figure, axes = panels([str(label) for label, _ in groups], across=3)
    styles = method_styles(frame["contender"])
    for index, (axis, (_, part)) in enumerate(zip(axes, groups, strict=True)):
        draw_lines(axis, _floored(part).assign(step=part["step"] + 1), "step", styles)
        axis.set(xscale="log", yscale="log", xlabel="step", ylabel="‖∇L₁‖" if index % 3 == 0 else "")
        _thin_markers(axis)
    add_legend(figure, frame)
    return figure


def end_data(source: Source, *, setting: str = "problem.k", value: str = "primary_gradient_norm") -> pd.DataFrame:
    """Return the median and the range of a metric over configurations and seeds, against a setting."""
    if not all(source.has(column) for column in (setting, value)):
        return pd.DataFrame()
    table = source.panels_over(setting)
    done = table[table["status"] == "done"]
    rows = []
    for (panel, contender, x), runs in done.groupby(["panel", "contender", setting]):
        found = _spread((panel, contender, x), runs[value].tolist())
        rows.append({"panel": panel, "setting": setting, "value": value, "x": x, **found})
    return in_order(pd.DataFrame(rows).drop(columns=["instance_label", "step"]), source.order)


def draw_end(frame: pd.DataFrame) -> Figure:
    """Draw the median at the end against the setting, with a band from the smallest to the largest."""
    groups = list(frame.groupby("panel"))
    figure, axes = panels([str(label) for label, _ in groups], width=3.6, height=3.0)
    styles = method_styles(frame["contender"])
    for index, (axis, (_, part)) in enumerate(zip(axes, groups, strict=True)):
        draw_lines(axis, _floored(part), "x", styles)
        setting = str(frame["setting"].iloc[0]).partition(".")[2]
        axis.set(yscale="log", xlabel={"k": "objectives K"}.get(setting, setting))
        axis.set_ylabel(label_of(str(frame["value"].iloc[0])) if index == 0 else "")
        axis.set_xticks(sorted(part["x"].unique()))
    add_legend(figure, frame)
    return figure


def _spread(key: tuple[object, object, object], values: list[float]) -> dict[str, object]:
    names = dict(zip(("instance_label", "contender", "step"), key, strict=True))
    low, middle, high = np.quantile(values, [0.0, 0.5, 1.0]).tolist()
    return {**names, "mean": middle, "low": low, "high": high, "runs": len(values)}


def _floored(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(**{name: frame[name].clip(lower=FLOOR) for name in ("mean", "low", "high")})


def _thin_markers(axis: Axes) -> None:
    """Mark every eighth step, each line at other steps, so that lines on top of each other can be told apart."""
    for place, line in enumerate(axis.get_lines()):
        line.set_markevery((place % 8, 8))
