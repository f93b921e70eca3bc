"""A knob's sweep on several axes at once, with the other methods' selected configurations as lines."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from mobench.scoring.indicators.summary import summarize
from mobench.scoring.selection import Criterion, selected_configurations

from .panels import ACROSS, add_legend, draw_lines, in_order, label_of, panels
from .source import Source
from .style import method_styles

SYMBOLS = {"tau": "τ", "weight": "λ"}
VALUES = ("accuracy", "parameter_sparsity", "effective_rank")


def data(
    source: Source, *, setting: str = "method.tau", values: Sequence[str] = VALUES, select: str = "selection_accuracy"
) -> pd.DataFrame:
    """Return one row per problem instance, metric, contender and knob value.

    Contenders that were swept over `setting` have one row for each of its values, `knob`; the others have one
    row without `knob`: the configuration that `select` chooses (`accuracy` with selection on test data). Empty
    where nobody was swept: a knob with one value has no axis.
    """
    table = source.table
    if not all(source.has(column) for column in (setting, *values)):
        return pd.DataFrame()
    table = table.assign(knob=pd.to_numeric(table[setting], errors="coerce"))
    swept = table.groupby("contender")["knob"].nunique() > 1
    if not swept.any():
        return pd.DataFrame()
    parts = []
    turned = table[table["contender"].map(swept) & table["knob"].notna()]
    keys = ["instance", "instance_label", "contender", "knob", "configuration"]
    for metric in values:
        parts.append(summarize(turned, keys, [metric]).drop(columns=["failed"]))
        others = table[~table["contender"].map(swept)]
        if len(others):
            criterion = Criterion(metric, source.select_metric(select, "accuracy"))
            lines = selected_configurations(others, criterion, by="contender")
            labels = dict(zip(table["instance"], table["instance_label"], strict=True))
            parts.append(lines.assign(metric=metric, instance_label=lines["instance"].map(labels)))
    columns = ["instance_label", "metric", "contender", "knob", "mean", "sd", "low", "high", "n", "configuration"]
    frame = pd.concat(parts, ignore_index=True).reindex(columns=columns).assign(setting=setting)
    return in_order(frame, source.order)


def draw(frame: pd.DataFrame) -> Figure:
    """Draw each metric against the knob; contenders without it are horizontal lines."""
    metrics = list(dict.fromkeys(frame["metric"]))
    instances = list(dict.fromkeys(frame["instance_label"]))
    titles = [label if len(instances) > 1 and metric == metrics[0] else "" for label in instances for metric in metrics]
    across = len(metrics) if len(metrics) > 1 else ACROSS
    figure, axes = panels(titles, across=across, width=3.0, height=2.8)
    figure.set_layout_engine("constrained", w_pad=0.12)  # room for the markers beyond the right edge
    styles = method_styles(frame["contender"])
    setting = str(frame["setting"].iloc[0]).partition(".")[2]
    for axis, (label, metric) in zip(axes, ((i, m) for i in instances for m in metrics), strict=True):
        part = frame[(frame["instance_label"] == label) & (frame["metric"] == metric)]
        draw_lines(axis, part[part["knob"].notna()], "knob", styles)
        for row in part[part["knob"].isna() & part["mean"].notna()].to_dict("records"):
            style = styles[row["contender"]]
            axis.axhline(row["mean"], color=style.color, linestyle=style.linestyle, linewidth=1.2)
            edge = axis.get_yaxis_transform()
            axis.plot([1.0], [row["mean"]], style.marker, color=style.color, transform=edge, clip_on=False)
        axis.set(xlabel=SYMBOLS.get(setting, setting), ylabel=label_of(metric))
        knobs = part["knob"].dropna()
        if len(knobs) and knobs.min() > 0 and knobs.max() / knobs.min() > 15:
            axis.set_xscale("log")
    add_legend(figure, frame)
    return figure
