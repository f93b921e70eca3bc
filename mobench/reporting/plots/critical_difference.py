"""The critical-difference diagram (Demšar 2006): mean ranks on a line, bars over those that are not told apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from mobench.core.plot import Plot
from mobench.core.registry import register
from mobench.scoring.standings import Standings, standings

from .panels import plain
from .style import method_styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mobench.scoring.metric_catalog import MetricCatalog
    from mobench.scoring.suite_results import SuiteResults

INK, LEADER = "#262626", "#767676"
SPAN, LINE, BAR = 4.2, 0.24, 0.13
"""Inches: the scale across, from name to name, and from bar to bar."""
LETTER, GAP = 0.092, 0.26
"""Inches: a wide letter, and what stands between a name and the scale."""


@register
class CriticalDifference(Plot):
    """Mean ranks; bars join methods that the contests cannot tell apart."""

    name = "critical-difference"

    def data(self, results: SuiteResults) -> pd.DataFrame:
        """Return the mean ranks over the suite's contests; empty with fewer than two."""
        found = results.contests
        return frame_of(standings(found)) if len(found) > 1 else pd.DataFrame()

    def draw(self, frame: pd.DataFrame, metrics: MetricCatalog) -> Figure:
        """Draw ranks from left (best) to right, names in two columns below, and the critical difference above.

        The axis is laid out in inches, so that names of any length have room.
        """
        from matplotlib.figure import Figure

        count = len(frame)
        half = math.ceil(count / 2)
        bars = 1 + max((int(number) for text in frame["groups"] for number in text.split()), default=0)
        lengths = [len(_label(row)) for row in frame.to_dict("records")]
        left_names, right_names = (GAP + LETTER * max(part) for part in (lengths[:half], lengths[half:]))
        top, first = 0.62, BAR * bars
        span, depth = max(SPAN, 0.3 * count), first + LINE * half
        figure = Figure(figsize=(left_names + span + right_names, top + depth))
        axis = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axis.set(xlim=(-left_names, span + right_names), ylim=(-depth, top))
        axis.axis("off")

        def place(rank: float) -> float:
            return span * (rank - 1) / (count - 1)

        _draw_scale(axis, [place(rank) for rank in range(1, count + 1)])
        _draw_difference(axis, frame.iloc[0], place)
        for number in range(1, bars):
            members = frame[[str(number) in str(groups).split() for groups in frame["groups"]]]["mean_rank"]
            ends = [place(members.min()) - 0.03, place(members.max()) + 0.03]
            axis.plot(ends, [-BAR * number] * 2, color=INK, linewidth=3.2)
        styles = method_styles(frame["contender"])
        for index, row in enumerate(frame.to_dict("records")):
            left = index < half
            height = -first - LINE * ((index if left else count - 1 - index) + 0.3)
            x, edge, side = place(row["mean_rank"]), -0.08 if left else span + 0.08, -1 if left else 1
            style = styles[row["contender"]]
            axis.plot([x, x, edge], [0, height, height], color=LEADER, linewidth=0.9, zorder=1)
            for at in ((x, 0.0), (edge, height)):
                axis.plot(
                    *at, style.marker, color=style.color, markersize=6.5, markeredgecolor="white", markeredgewidth=0.5,
                    zorder=3,
                )  # fmt: skip
            axis.text(
                edge + 0.1 * side, height, plain(_label(row)), ha="right" if left else "left", va="center", color=INK
            )
        return figure


def frame_of(found: Standings) -> pd.DataFrame:
    """Return one row per ranked contender, best first; `groups` numbers the bars that it belongs to."""
    ranked = found.frame[found.frame["ranked"]]
    if len(ranked) < 2:
        return pd.DataFrame()
    groups = [
        " ".join(str(number) for number, group in enumerate(found.cliques, 1) if name in group)
        for name in ranked["contender"]
    ]
    return pd.DataFrame(
        {
            **{name: ranked[name].to_numpy() for name in ("contender", "mean_rank", "low", "high")},
            "groups": groups,
            "critical_difference": math.nan if found.critical_difference is None else found.critical_difference,
            "friedman_p": math.nan if found.friedman_p is None else found.friedman_p,
            "blocks": found.blocks,
            "unit": found.unit,
        }
    )


def _label(row: Mapping[Any, Any]) -> str:
    return f"{row['contender']}  {row['mean_rank']:.2f}"


def _draw_difference(axis: Axes, first: pd.Series[Any], place: Callable[[float], float]) -> None:
    text = f"{first['blocks']} {first['unit']}s"
    if not math.isnan(first["friedman_p"]):
        text += f", Friedman p = {first['friedman_p']:.2g}"
    difference = float(first["critical_difference"])
    if math.isnan(difference):
        text += ": too few to tell anybody apart"
    else:
        axis.plot([0, place(1 + difference)], [0.36, 0.36], color=INK, linewidth=1.4, marker="|", markersize=7)
        text = f"critical difference {difference:.2f}; {text}"
    axis.text(0, 0.43, text, ha="left", va="bottom", color=INK, fontsize="small")


def _draw_scale(axis: Axes, places: list[float]) -> None:
    axis.plot([places[0], places[-1]], [0, 0], color=INK, linewidth=1.0, zorder=2)
    for rank, x in enumerate(places, 1):
        axis.plot([x, x], [0, 0.06], color=INK, linewidth=1.0)
        axis.text(x, 0.09, str(rank), ha="center", va="bottom", color=INK, fontsize="small")
