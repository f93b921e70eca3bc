"""Curves of what is sampled along a run: the median over configurations and seeds, and their range as a band."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from mobench.core.plot import Plot

from .panels import add_legend, draw_lines, in_order, panels
from .style import method_styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mobench.scoring.metric_catalog import MetricCatalog
    from mobench.scoring.suite_results import SuiteResults

ACROSS = 3
FLOOR = 1e-16
"""Smaller numbers are drawn here: a logarithmic axis has no zero, and below is rounding."""


class AlongTheRun(Plot):
    """A number that runs sample, against the step."""

    logarithmic: ClassVar[bool] = True
    """Whether the number is drawn on a logarithmic scale."""

    @abstractmethod
    def number(self, row: Mapping[str, Any]) -> float | None:
        """Return the number at one sampled step, None where there is none."""

    @abstractmethod
    def label(self, frame: pd.DataFrame, metrics: MetricCatalog) -> str:
        """Return what stands at the axis."""

    def curves(self, results: SuiteResults, columns: Sequence[str]) -> pd.DataFrame:
        """Return median and range at every sampled step that has the given columns."""
        rows = results.table.set_index("id")[["instance_label", "contender"]]
        places = {str(id_): (row["instance_label"], row["contender"]) for id_, row in rows.iterrows()}
        found: defaultdict[tuple[str, str, int], list[float]] = defaultdict(list)
        for record in results.records():
            history = record.outcome.history
            if record.id not in places or not all(name in history for name in columns):
                continue
            for step, *values in zip(history["step"], *(history[name] for name in columns), strict=True):
                if all(value is not None for value in values):
                    number = self.number(dict(zip(columns, values, strict=True)))
                    if number is not None:
                        found[(*places[record.id], step)].append(number)
        keys = ("instance_label", "contender", "step")
        frame = pd.DataFrame([dict(zip(keys, key, strict=True)) | spread(values) for key, values in found.items()])
        return in_order(frame.sort_values("step"), results.order) if len(frame) else frame

    def draw(self, frame: pd.DataFrame, metrics: MetricCatalog) -> Figure:
        """Draw one panel for each problem instance."""
        groups = list(frame.groupby("instance_label"))
        figure, axes = panels([str(label) for label, _ in groups], across=ACROSS)
        styles = method_styles(frame["contender"])
        logarithmic = self.logarithmic and bool((frame["high"] > 0).any()) and bool((frame["low"] >= 0).all())
        for index, (axis, (_, part)) in enumerate(zip(axes, groups, strict=True)):
            drawn = floored(part) if logarithmic else part
            draw_lines(axis, drawn.assign(step=part["step"] + 1), "step", styles)
            axis.set(xscale="log", yscale="log" if logarithmic else "linear", xlabel="step")
            axis.set_ylabel(self.label(frame, metrics) if index % ACROSS == 0 else "")
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
