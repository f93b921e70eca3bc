"""Hypervolume in frozen bounds: bars with error bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from mobench.core.plot import Plot
from mobench.core.registry import register

from .panels import ACROSS, in_order, panels, plain
from .style import method_styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mobench.scoring.metric_catalog import MetricCatalog
    from mobench.scoring.suite_results import SuiteResults


@register
class Hypervolume(Plot):
    """Hypervolume in frozen bounds."""

    def data(self, results: SuiteResults, *, form: str = "") -> pd.DataFrame:
        """Return the hypervolumes as in the report's table: of the form that ranks, or of the one that is named."""
        frame = results.hypervolumes
        if not len(frame):
            return frame
        return in_order(frame[frame["form"] == form if form else frame["headline"]], results.order)

    def draw(self, frame: pd.DataFrame, metrics: MetricCatalog) -> Figure:
        """Draw a bar for each contender, with its interval over seeds, one panel for each problem instance."""
        import seaborn

        groups = list(frame.groupby("instance_label", sort=False))
        colors = {name: style.color for name, style in method_styles(frame["contender"]).items()}
        names = list(colors)
        figure, axes = panels([str(label) for label, _ in groups], width=2.9, height=0.9 + 0.22 * len(names))
        for index, (axis, (_, part)) in enumerate(zip(axes, groups, strict=True)):
            seaborn.barplot(
                part, x="mean", y="contender", hue="contender", order=names, palette=colors, ax=axis, saturation=1.0,
                legend=False,
            )  # fmt: skip
            known = part.dropna(subset=["low"])
            places = [names.index(name) for name in known["contender"]]
            spans = [known["mean"] - known["low"], known["high"] - known["mean"]]
            axis.errorbar(known["mean"], places, xerr=spans, fmt="none", ecolor="#333333", capsize=2.5, linewidth=1.1)
            axis.set(xlabel=str(part["form_label"].iloc[0]), ylabel="")
            axis.set_yticks(range(len(names)), [] if index % ACROSS else [plain(name) for name in names])
        return figure
