"""A knob's sweep on several axes at once, with the other methods' selected configurations as lines."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from mobench.core.plot import Plot
from mobench.core.registry import register
from mobench.scoring.indicators.summary import summarize
from mobench.scoring.select import Criterion, Sweeps

from .panels import ACROSS, add_legend, draw_lines, in_few_digits, in_order, panels
from .style import method_styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mobench.core.about import Look
    from mobench.core.plot import MetricNames, PlotResults

VALUES = ("accuracy", "parameter_sparsity", "effective_rank")
WIDE = 5.0
"""A knob whose largest value is more than so many times its smallest has a logarithmic axis."""
ROOM = 0.16
"""The share of a logarithmic axis that is kept free for arrows."""
LETTERS = 30
"""How many letters of an axis's label fit beside a panel."""


@register
class Knob(Plot):
    """A sweep of the knob; lines are the selected configurations of the other methods, arrows the knob at 0."""

    def data(
        self,
        results: PlotResults,
        *,
        setting: str = "method.tau",
        values: Sequence[str] = VALUES,
        select: str = "selection_accuracy",
    ) -> pd.DataFrame:
        """Return one row per problem instance, metric, contender and knob value.

        Contenders that were swept over `setting` have one row for each of its values, `knob`; the others have one
        row without `knob`: the configuration that `select` chooses (with selection on test data, the metric that
        `selection_` stands before). Empty where no method was swept: a knob with one value has no axis.
        """
        table = results.table
        if not all(results.has(column) for column in (setting, *values)):
            return pd.DataFrame()
        table = table.assign(knob=pd.to_numeric(table[setting], errors="coerce"))
        swept = table.groupby("contender")["knob"].nunique() > 1
        if not swept.any():
            return pd.DataFrame()
        parts = []
        turned = table[table["contender"].map(swept) & table["knob"].notna()]
        keys = ["instance", "instance_label", "contender", "knob", "configuration"]
        chooser = results.select_metric(select, select.removeprefix("selection_"))
        labels = dict(zip(table["instance"], table["instance_label"], strict=True))
        for metric in values:
            parts.append(summarize(turned, keys, [metric]).drop(columns=["failed"]))
            others = table[~table["contender"].map(swept)]
            if len(others):
                lines = Sweeps(others, "contender").selected(Criterion(metric, chooser))
                parts.append(lines.assign(metric=metric, instance_label=lines["instance"].map(labels)))
        columns = ["instance_label", "metric", "contender", "knob", "mean", "sd", "low", "high", "n", "configuration"]
        frame = pd.concat(parts, ignore_index=True).reindex(columns=columns).assign(setting=setting)
        return in_order(frame, results.order)

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> Figure:
        """Draw each metric against the knob; contenders without it are horizontal lines.

        On a logarithmic axis the knob's value 0 is an arrow at the left edge that points up at its value.
        """
        values, instances = (list(dict.fromkeys(frame[name])) for name in ("metric", "instance_label"))
        titles = [label if len(instances) > 1 and value == values[0] else "" for label in instances for value in values]
        figure, axes = panels(titles, across=len(values) if len(values) > 1 else ACROSS, width=3.0, height=2.8)
        figure.set_layout_engine("constrained", w_pad=0.12)  # room for the markers beyond the right edge
        styles = method_styles(frame["contender"])
        setting = metrics[str(frame["setting"].iloc[0])]
        for axis, (label, value) in zip(axes, ((i, v) for i in instances for v in values), strict=True):
            part = frame[(frame["instance_label"] == label) & (frame["metric"] == value)]
            factor, shown = in_few_digits(metrics[value], float(part["mean"].max()))
            part = part.assign(**{name: part[name] / factor for name in ("mean", "low", "high")})
            knobs = part["knob"][part["knob"] > 0.0]
            logarithmic = bool(len(knobs)) and knobs.max() / knobs.min() > WIDE
            draw_lines(axis, part[part["knob"] > 0.0] if logarithmic else part[part["knob"].notna()], "knob", styles)
            for row in part[part["knob"].isna() & part["mean"].notna()].to_dict("records"):
                style = styles[row["contender"]]
                axis.axhline(row["mean"], color=style.color, linestyle=style.linestyle, linewidth=1.2)
                edge = axis.get_yaxis_transform()
                axis.plot([1.0], [row["mean"]], style.marker, color=style.color, transform=edge, clip_on=False)
            axis.set(xlabel=setting.label, ylabel=textwrap.fill(shown.axis, LETTERS))
            if logarithmic:
                axis.set_xscale("log")
                _arrows(axis, part[part["knob"] == 0.0], styles)
        add_legend(figure, frame)
        return figure


def _arrows(axis: Axes, rows: pd.DataFrame, styles: Mapping[str, Look]) -> None:
    """Point at the values of knobs at 0, which a logarithmic axis does not reach; room is made for them at its left."""
    low, high = axis.get_xlim()
    axis.set_xlim(low * (low / high) ** ROOM if len(rows) else low, high)
    for row in rows[rows["mean"].notna()].to_dict("records"):
        axis.annotate(
            f"{row['mean']:.3g}",
            xy=(ROOM / 2, row["mean"]),
            xytext=(0, -16),
            xycoords=axis.get_yaxis_transform(),
            textcoords="offset points",
            color=styles[row["contender"]].color,
            fontsize=7,
            ha="center",
            va="top",
            arrowprops={"arrowstyle": "-|>", "color": styles[row["contender"]].color},
        )
        axis.update_datalim([(axis.get_xlim()[1], row["mean"])])
    axis.autoscale_view()
