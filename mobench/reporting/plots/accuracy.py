"""Accuracy of pruned networks: against what was removed, and against what they cost."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from .panels import add_legend, draw_lines, label_of, panels
from .source import Source
from .style import method_styles
from .targets import COSTS, selected_at_targets


def reduction_data(source: Source) -> pd.DataFrame:
    """Return the accuracy of the selected configuration at every reduction target."""
    frame = selected_at_targets(source)
    return frame[frame["target"] > 0] if len(frame) else frame


def draw_reduction(frame: pd.DataFrame) -> Figure:
    """Draw accuracy against the percentage of parameters removed."""
    groups = list(frame.groupby("instance_label", sort=False))
    figure, axes = panels([str(label) for label, _ in groups], width=3.4, height=2.9)
    styles = method_styles(frame["contender"])
    for axis, (_, part) in zip(axes, groups, strict=True):
        draw_lines(axis, part, "reduction", styles)
        axis.set(xlabel="parameters removed (%)", ylabel=label_of("accuracy"))
        axis.set_xticks(sorted(part["target"].unique()))
    add_legend(figure, frame)
    return figure


def cost_data(source: Source) -> pd.DataFrame:
    """Return the accuracy of the selected configuration at every target, and unpruned, with its costs."""
    return selected_at_targets(source)


def draw_cost(frame: pd.DataFrame) -> Figure:
    """Draw accuracy against latency, file size and FLOPs; a line goes from target to target, stars are unpruned."""
    costs = [cost for cost in COSTS if cost in frame]
    groups = list(frame.groupby("instance_label", sort=False))
    titles = [str(label) if cost == costs[0] else "" for label, _ in groups for cost in costs]
    figure, axes = panels(titles, across=len(costs), height=2.8)
    for index, axis in enumerate(axes):
        (_, part), cost = groups[index // len(costs)], costs[index % len(costs)]
        factor, unit = _unit(cost, float(part[cost].max()))
        for name, style in method_styles(frame["contender"]).items():
            line = part[(part["contender"] == name) & part["mean"].notna()].sort_values("target")
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
        axis.set(xlabel=unit, ylabel=label_of("accuracy") if cost == costs[0] else "")
    add_legend(figure, frame)
    return figure


def _unit(cost: str, largest: float) -> tuple[float, str]:
    """Return the unit in which a cost has few digits, as a factor and in words."""
    units = {
        "latency_ms": [(1.0, "CPU latency (ms)")],
        "bytes": [(2.0**20, "file size (MiB)"), (2.0**10, "file size (KiB)")],
        "flops": [(1e9, "GFLOPs"), (1e6, "MFLOPs"), (1e3, "kFLOPs")],
    }[cost]
    return next((unit for unit in units if largest >= unit[0]), units[-1])
