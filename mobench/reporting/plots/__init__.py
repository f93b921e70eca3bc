"""Plots of results: for each, a function from results to a data frame and one from the frame to a figure.

A suite says which it wants: `plots: [hypervolume, {plot: scale, value: secondary}]`. Beside `plot`, an
entry may have `where` (only runs whose columns have these values) and the options of its data function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from mobench.errors import UserError, unknown
from mobench.reporting.report import Picture

from ..rendering import Files, Render, at_once
from . import accuracy, critical_difference, front, gradient_norm, hypervolume, knob, performance, scale, trajectories
from .source import Source
from .style import house_style
from .theme import dark

__all__ = ["PLOTS", "Plot", "Source", "dark", "draw_plots", "house_style"]


@dataclass(frozen=True)
class Plot:
    """One kind of plot."""

    title: str
    data: Callable[..., pd.DataFrame]
    """Takes a `Source` and options; an empty frame means that there is nothing to draw."""
    draw: Callable[[pd.DataFrame], Figure]


PLOTS = {
    "accuracy-reduction": Plot(
        "Accuracy of the selected configuration against parameters removed",
        accuracy.reduction_data,
        accuracy.draw_reduction,
    ),
    "accuracy-cost": Plot(
        "Accuracy of the selected configuration against latency, file size and FLOPs (stars: unpruned)",
        accuracy.cost_data,
        accuracy.draw_cost,
    ),
    "knob": Plot(
        "A sweep of the knob; lines are the selected configurations of the other methods", knob.data, knob.draw
    ),
    "hypervolume": Plot("Hypervolume in frozen bounds", hypervolume.data, hypervolume.draw),
    "paper-hypervolume": Plot("Hypervolume in the paper's form", hypervolume.paper_data, hypervolume.draw),
    "budget": Plot(
        "Expected hypervolume after a number of configurations, picked blindly",
        hypervolume.budget_data,
        hypervolume.draw_budget,
    ),
    "trajectories": Plot("Paths in the plane", trajectories.data, trajectories.draw),
    "gradient-norm": Plot(
        "Gradient norm of the primary along the run: median and range over configurations and seeds",
        gradient_norm.data,
        gradient_norm.draw,
    ),
    "gradient-norm-end": Plot(
        "Gradient norm of the primary at the end: median and range over configurations and seeds",
        gradient_norm.end_data,
        gradient_norm.draw_end,
    ),
    "operating-points": Plot(
        "Operating points on the front while one objective is rescaled (first seed)", front.data, front.draw
    ),
    "scale": Plot("What a fixed configuration gives while one objective is rescaled", scale.data, scale.draw),
    "performance-profile": Plot(
        "How often each method is within a factor of the best (performance profile)", performance.data, performance.draw
    ),
    "critical-difference": Plot(
        "Mean ranks; bars join methods that the contests cannot tell apart",
        critical_difference.data,
        critical_difference.draw,
    ),
}
"""All plots by name."""


def draw_plots(entries: Iterable[str | Mapping[str, Any]], source: Source, render: Render = at_once) -> list[Picture]:
    """Return the plots that a suite asks for; one without data is left out."""
    drawn: list[tuple[str, str, Callable[[], Files], pd.DataFrame]] = []
    for entry in entries:
        name, where, options = _parsed(entry)
        plot = PLOTS[name]
        frame = plot.data(source.where(where) if where else source, **options)
        if not len(frame):
            continue
        with house_style():
            files = render(plot.draw(frame))
        repeated = sum(other.partition("_")[0] == name for other, *_ in drawn)
        drawn.append((f"{name}_{repeated + 1}" if repeated else name, plot.title, files, frame))
    return [Picture(name, title, *files(), frame) for name, title, files, frame in drawn]


def _parsed(entry: str | Mapping[str, Any]) -> tuple[str, Mapping[str, Any], dict[str, Any]]:
    options: dict[str, Any] = dict(entry) if isinstance(entry, Mapping) else {"plot": entry}
    if "plot" not in options:
        raise UserError(f"an entry of plots lacks the key plot: {options}")
    name = str(options.pop("plot"))
    if name not in PLOTS:
        raise unknown("plot", name, PLOTS)
    where = options.pop("where", {})
    accepted = [parameter for parameter in inspect.signature(PLOTS[name].data).parameters if parameter != "source"]
    for option in options:
        if option not in accepted:
            raise unknown(f"option of plot {name}:", option, ["plot", "where", *accepted])
    return name, where, options
