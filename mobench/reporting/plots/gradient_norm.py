"""The primary's gradient norm along a run."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mobench.core.plot import Plot
from mobench.core.registry import register

from .panels import add_legend, draw_lines, in_order, panels
from .style import method_styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mobench.scoring.metric_catalog import MetricCatalog
    from mobench.scoring.suite_results import SuiteResults

FLOOR = 1e-16
"""Smaller norms are drawn here: a logarithmic axis has no zero, and below is rounding."""


@register
class GradientNorm(Plot):
    """Gradient norm of the primary along the run: median and range over configurations and seeds."""

    name = "gradient-norm"

    def data(self, results: SuiteResults) -> pd.DataFrame:
        """Return the median and the range of ‖∇L₁‖ at every sampled step."""
        rows = results.table.set_index("id")[["instance_label", "contender"]]
        places = {str(id_): (row["instance_label"], row["contender"]) for id_, row in rows.iterrows()}
        norms: defaultdict[tuple[str, str, int], list[float]] = defaultdict(list)
        for record in results.records():
            history = record.outcome.history
            if record.id in places and "gradient_norms" in history:
                for step, values in zip(history["step"], history["gradient_norms"], strict=True):
                    if values is not None and values[0] is not None:
                        norms[(*places[record.id], step)].append(values[0])
        keys = ("instance_label", "contender", "step")
        frame = pd.DataFrame([dict(zip(keys, key, strict=True)) | spread(values) for key, values in norms.items()])
        return in_order(frame.sort_values("step"), results.order) if len(frame) else frame

    def draw(self, frame: pd.DataFrame, metrics: MetricCatalog) -> Figure:
        groups = list(frame.groupby("instance_label"))
        figure, axes = panels([str(label) for label, _ in groups], across=3)
        styles = method_styles(frame["contender"])
        for index, (axis, (_, part)) in enumerate(zip(axes, groups, strict=True)):
            draw_lines(axis, floored(part).assign(step=part["step"] + 1), "step", styles)
            axis.set(xscale="log", yscale="log", xlabel="step", ylabel="‖∇L₁‖" if index % 3 == 0 else "")
            _thin_markers(axis)
        add_legend(figure, frame)
        return figure


def spread(values: list[float]) -> dict[str, object]:
    """Return the median of some runs as `mean`, and their range."""
    low, middle, high = np.quantile(values, [0.0, 0.5, 1.0]).tolist()
    return {"mean": middle, "low": low, "high": high, "runs": len(values)}


def floored(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with numbers that a logarithmic axis can show."""
    return frame.assign(**{name: frame[name].clip(lower=FLOOR) for name in ("mean", "low", "high")})


def _thin_markers(axis: Axes) -> None:
    """Mark every eighth step, each line at other steps, so that lines on top of each other can be told apart."""
    for place, line in enumerate(axis.get_lines()):
        line.set_markevery((place % 8, 8))
