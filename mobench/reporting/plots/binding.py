"""How often each secondary's constraint binds, against a method's knob."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mobench.core.plot import Plot
from mobench.core.registry import register

from .panels import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mobench.core.plot import MetricNames, PlotResults


@register
class Binding(Plot):
    """How often the constraint of each secondary binds: share of the kept steps with a positive multiplier."""

    reads = (("multipliers", "all"),)

    def data(self, results: PlotResults, *, setting: str = "method.tau") -> pd.DataFrame:
        """Return, for each secondary and value of the knob, the share of steps at which it binds.

        `mean` is over runs, `low` and `high` are the smallest and the largest share of a run. Read from the
        multipliers that a method notes on the steps that a run keeps.
        """
        if not results.has(setting):
            return pd.DataFrame()
        places = {str(run["id"]): run for run in results.done.to_dict("records")}
        shares: defaultdict[tuple[str, float, str], list[float]] = defaultdict(list)
        for id_, history in results.histories(places):
            noted = [kept for kept in history.get("multipliers", []) if kept is not None]
            if not noted:
                continue
            run: dict[Any, Any] = places[id_]
            names = results.problems[run["instance"]].objectives()[1:]
            for name, share in zip(names, (np.array(noted, dtype=float) > 0.0).mean(axis=0).tolist(), strict=True):
                shares[run["instance_label"], float(run[setting]), name].append(share)
        rows: list[dict[str, Any]] = [
            {
                "panel": panel,
                "setting": setting,
                "knob": knob,
                "secondary": name,
                "mean": float(np.mean(values)),
                "low": min(values),
                "high": max(values),
                "runs": len(values),
            }
            for (panel, knob, name), values in shares.items()
        ]
        return pd.DataFrame(rows).sort_values(["panel", "knob", "secondary"], ignore_index=True) if rows else _EMPTY

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> Figure:
        """Draw a line for each secondary; the knob's values stand side by side at equal distances."""
        groups = list(frame.groupby("panel"))
        figure, axes = panels([str(label) for label, _ in groups], width=3.8, height=3.0)
        setting = metrics[str(frame["setting"].iloc[0])]
        for axis, (_, part) in zip(axes, groups, strict=True):
            knobs = sorted(part["knob"].unique())
            for name, line in part.groupby("secondary"):
                places = [knobs.index(knob) for knob in line["knob"]]
                axis.plot(places, line["mean"], marker="o", label=str(name))
            axis.set(ylim=(0.0, 1.05), xlabel=setting.label, ylabel="share of steps at which it binds")
            axis.set_xticks(range(len(knobs)), [f"{knob:g}" for knob in knobs])
        axes[-1].legend()
        return figure


_EMPTY = pd.DataFrame()
