"""Plots of PCD's knob: a sweep over it on several axes, and how often each constraint binds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mobench.core.plot import MetricNames, Plot, PlotResults
from mobench.core.registry import register

if TYPE_CHECKING:
    import pandas as pd
    import seaborn.objects as so


@register
class Knob(Plot):
    """A sweep of the knob; flat lines are the selected configurations of the other methods."""

    def data(
        self, results: PlotResults, *, values: Sequence[str], setting: str = "method.tau", select: str = ""
    ) -> pd.DataFrame:
        """Return one row per problem instance, metric of `values`, contender and knob value.

        Contenders that were swept over `setting` have one row for each of its values, `knob`; the others have the
        configuration that `select` chooses (by default each metric itself) at every value. With selection on test data
        it is the metric that `selection_` stands before. Empty where no method was swept.
        """
        import pandas as pd

        if not all(results.has(column) for column in (setting, *values)):
            return pd.DataFrame()
        swept = results.table.groupby("contender")[setting].nunique() > 1
        turned = results.summary(["instance_label", "contender", setting, "configuration"], values)
        turned = turned[turned["contender"].map(swept) & turned[setting].notna()].rename(columns={setting: "knob"})
        if not len(turned):
            return pd.DataFrame()
        ends = pd.DataFrame({"knob": [turned["knob"].min(), turned["knob"].max()]})
        parts = [turned]
        for metric in values:
            chosen = results.selected_by(
                metric, results.select_metric(select or metric, select.removeprefix("selection_") or metric)
            )
            parts.append(chosen[~chosen["contender"].map(swept)].merge(ends, how="cross").assign(metric=metric))
        return pd.concat(parts, ignore_index=True).assign(setting=setting)

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> so.Plot:
        """Draw each metric against the knob, whose values stand at equal distances."""
        panels = frame["metric"].map(lambda name: metrics[name].axis)
        if frame["instance_label"].nunique() > 1:
            panels = frame["instance_label"] + ": " + panels
        return _against_the_knob(self, frame.assign(panel=panels), metrics).label(y="")


@register
class Binding(Plot):
    """How often the constraint of each secondary binds: share of the kept steps with a positive multiplier."""

    reads = (("multipliers", "all"),)
    panel = (3.8, 3.0)

    def data(self, results: PlotResults, *, setting: str = "method.tau") -> pd.DataFrame:
        """Return, for each secondary and value of the knob, the share of steps at which it binds.

        `mean` is over runs, `low` and `high` are the smallest and the largest share of a run. Read from the
        multipliers that a method notes on the steps that a run keeps.
        """
        import pandas as pd

        if not results.has(setting):
            return pd.DataFrame()
        places: dict[str, dict[Any, Any]] = {str(run["id"]): run for run in results.done.to_dict("records")}
        shares: defaultdict[tuple[str, float, str], list[float]] = defaultdict(list)
        for id_, history in results.histories(places):
            noted = [kept for kept in history.get("multipliers", []) if kept is not None]
            run = places[id_]
            names = results.problems[run["instance"]].objectives()[1:] if noted else ()
            for name, share in zip(names, (np.array(noted, dtype=float) > 0.0).mean(axis=0).tolist(), strict=True):
                shares[run["instance_label"], float(run[setting]), name].append(share)
        rows = [
            {**dict(zip(("panel", "knob", "secondary"), key, strict=True)), "mean": float(np.mean(values)),
             "low": min(values), "high": max(values), "runs": len(values)}
            for key, values in sorted(shares.items())
        ]  # fmt: skip
        return pd.DataFrame(rows).assign(setting=setting) if rows else pd.DataFrame()

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> so.Plot:
        """Draw a line for each secondary; the knob's values stand at equal distances."""
        import seaborn.objects as so

        described = so.Plot(_spelled(frame), x="knob", y="mean", color="secondary").facet("panel")
        described = described.add(so.Line(marker="o")).limit(y=(0.0, 1.05))
        return described.label(x=metrics[frame["setting"].iloc[0]].label, y="share of steps at which it binds")


def _against_the_knob(plot: Plot, frame: pd.DataFrame, metrics: MetricNames) -> so.Plot:
    return plot.lines(_spelled(frame), "knob", "panel").label(x=metrics[frame["setting"].iloc[0]].label)


def _spelled(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame in the order of its knob, which becomes a text."""
    ordered = frame.sort_values("knob", kind="stable")
    return ordered.assign(knob=ordered["knob"].map("{:g}".format))
