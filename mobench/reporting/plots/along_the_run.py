"""Curves of what is sampled along a run: the median over configurations and seeds, and their range as a band."""

from __future__ import annotations

import textwrap
from abc import abstractmethod
from itertools import cycle
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from mobench.core.plot import Plot
from mobench.reporting.format import number

from .panels import add_legend, draw_lines, in_order, panels, plain, scaled_once
from .samples import Samples, read_together
from .style import method_styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mobench.core.plot import MetricNames, PlotResults

ACROSS = 3
MANY = 12
"""With more contenders, lines in one panel hide each other, and every contender gets a panel of its own."""
MARGIN = 0.05
"""Of an axis that is cut: the part of its length that is left on either side of the numbers."""
LETTERS = 10
"""How many letters of the sentence below a figure stand in an inch."""
DASHES: tuple[Any, ...] = ("-", "--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (8, 3)))
"""Of the lines of problem instances that share a panel."""
FLOOR = 1e-16
"""Smaller numbers are drawn here: a logarithmic axis has no zero, and below is rounding."""


class AlongTheRun(Plot):
    """A number that runs sample, against the step. It is read from the one curve that `reads` names."""

    logarithmic: ClassVar[bool] = True
    """Whether the number is drawn on a logarithmic scale."""

    def __init__(self) -> None:
        self._samples: Samples | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the samples behind: a process that draws gets the numbers that were made of them."""
        return {**vars(self), "_samples": None}

    @abstractmethod
    def number(self, value: Any) -> float | None:
        """Return the number at a sampled step at which the curve has this value, None where there is none."""

    def take(self, **options: Any) -> None:
        """Take the options of `data`, before any run is read."""

    def samples(self, results: PlotResults) -> Samples:
        """Return where to put the runs of these results as they are read; `curves` then reads none itself."""
        ((column, _),) = self.reads
        self._samples = Samples(column, self.number, results.table, results.diverged_ids)
        return self._samples

    @abstractmethod
    def label(self, frame: pd.DataFrame, metrics: MetricNames) -> str:
        """Return what stands at the axis."""

    def curves(self, results: PlotResults) -> pd.DataFrame:
        """Return median and range at every sampled step that has a number."""
        if self._samples is None:
            read_together(results, [self.samples(results)])
        assert self._samples is not None
        frame = self._samples.frame()
        return in_order(frame.sort_values("step"), results.order) if len(frame) else frame

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> Figure:
        """Draw one panel for each problem instance; with many contenders, one for each of them.

        The axis of a number without bounds ends with the runs that did not diverge; what is cut is said.
        """
        logarithmic = self.logarithmic and bool((frame["high"] > 0).any()) and bool((frame["low"] >= 0).all())
        drawn = (floored(frame) if logarithmic else frame).assign(step=frame["step"] + 1)
        shared = frame["contender"].nunique() > MANY
        figure = (_panel_each if shared else _panel_for_each_instance)(drawn)
        parts = [drawn] if shared else [part for _, part in drawn.groupby("instance_label")]
        for axis, part in zip(figure.axes, parts, strict=not shared):
            axis.set(xscale="log", yscale="log" if logarithmic else "linear")
            if self.logarithmic and _beyond(part).any():
                _limit(axis, float(part["low"].min()), float(part["high_undiverged"].max()))
        beyond = pd.concat([part[_beyond(part)] for part in parts]) if self.logarithmic else drawn[:0]
        figure.supxlabel("\n".join(["step", *textwrap.wrap(_cut(beyond), round(LETTERS * figure.get_figwidth()))]))
        figure.supylabel(self.label(frame, metrics))
        return figure


def _beyond(part: pd.DataFrame) -> pd.Series[bool]:
    """Say which rows of an axis have numbers above those of all runs that did not diverge."""
    return part["high"].gt(part["high_undiverged"].max())


def _limit(axis: Axes, bottom: float, top: float) -> None:
    """Let the axis begin a little below the one number and end a little above the other."""
    if axis.get_yscale() == "log":
        factor = (top / bottom) ** MARGIN
        axis.set_ylim(bottom / factor, top * factor)
    else:
        room = MARGIN * (top - bottom)
        axis.set_ylim(bottom - room, top + room)


def _cut(beyond: pd.DataFrame) -> str:
    """Say what the axes cut, if anything."""
    if not len(beyond):
        return ""
    highest = ", ".join(
        f"{plain(str(name))} (to {number(float(part['high'].max()), 3)})" for name, part in beyond.groupby("contender")
    )
    return f"Cut above all runs that did not diverge: {highest}"


def _panel_for_each_instance(frame: pd.DataFrame) -> Figure:
    groups = list(frame.groupby("instance_label"))
    figure, axes = panels([str(label) for label, _ in groups], across=ACROSS)
    for axis, (_, part) in zip(axes, groups, strict=True):
        draw_lines(axis, part, "step", method_styles(frame["contender"]))
        _thin_markers(axis)
    add_legend(figure, frame)
    return figure


def _panel_each(frame: pd.DataFrame) -> Figure:
    """Draw a panel for each contender, with a line and a band for each instance; all panels have the same axes."""
    from matplotlib.lines import Line2D

    contenders = list(dict.fromkeys(frame["contender"]))
    figure, axes = panels(contenders, width=2.4, height=1.6, shared=True)
    styles = method_styles(frame["contender"])
    dashes = dict(zip(sorted(frame["instance_label"].unique()), cycle(DASHES), strict=False))
    with scaled_once(axes):
        for axis, contender in zip(axes, contenders, strict=True):
            color = styles[contender].color
            for label, part in frame[frame["contender"] == contender].groupby("instance_label"):
                axis.plot(part["step"], part["mean"], color=color, linestyle=dashes[str(label)])
                axis.fill_between(part["step"], part["low"], part["high"], color=color, alpha=0.15, linewidth=0)
    if len(dashes) > 1:
        handles = [
            Line2D([], [], color="#555555", linestyle=dash, label=plain(str(label))) for label, dash in dashes.items()
        ]
        figure.legend(handles=handles, loc="outside upper left", ncols=4)
    return figure


def spread(values: list[float]) -> dict[str, object]:
    """Return the median of some runs as `mean`, and their range."""
    if len(values) == 1:
        return {"mean": values[0], "low": values[0], "high": values[0], "runs": 1}
    low, middle, high = np.quantile(values, [0.0, 0.5, 1.0]).tolist()
    return {"mean": middle, "low": low, "high": high, "runs": len(values)}


def floored(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with numbers that a logarithmic axis can show."""
    return frame.assign(**{name: frame[name].clip(lower=FLOOR) for name in ("mean", "low", "high")})


def _thin_markers(axis: Axes) -> None:
    """Mark every eighth step, each line at other steps, so that lines on top of each other can be told apart."""
    for place, line in enumerate(axis.get_lines()):
        line.set_markevery((place % 8, 8))
