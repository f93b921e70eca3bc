"""The kinds of plots of tables: what ranks, the budget, trade-offs, profiles, and a metric against a setting.

Seaborn takes three to five times as long as matplotlib. A kind that would take more than 0.3 s for a shipped suite
with thirty contenders (many panels, or many ticks) is drawn with matplotlib.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from mobench.core.metric import Direction
from mobench.core.plot import OTHERS, MetricNames, Plot, PlotResults
from mobench.core.registry import register
from mobench.errors import UserError, unknown
from mobench.planning.expression import Expression

from .drawing import LAW, PANELS_ACROSS, as_text, broken_lines, in_order, panels, panels_of_lines
from .style import best_first

if TYPE_CHECKING:
    import seaborn.objects as so
    from matplotlib.figure import Figure

FLOOR = 1e-16
"""Smaller numbers are drawn here: a logarithmic axis has no zero, and below is rounding."""
LARGEST_RATIO = 100.0
"""Ratios beyond are not drawn: what is a hundred times worse is as good as failed. The data has them."""
SCALES = ("log", "linear")
WIDE = 50.0
"""Settings of which the largest is more than so many times the smallest have a logarithmic axis."""


@register
class Aim(Plot):
    """The number that ranks, with its interval over seeds, the best first."""

    def data(self, results: PlotResults) -> pd.DataFrame:
        """Return the hypervolume, or what else ranks contenders, on every problem instance."""
        return in_order(results.aims, best_first(results.aims)) if len(results.aims) else results.aims

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> Figure:
        """Draw a dot with its interval for each contender, one panel for each problem instance."""
        names = list(dict.fromkeys(frame["contender"]))
        groups = list(frame.groupby("instance_label", sort=False))
        figure, axes = panels([str(label) for label, _ in groups], (2.9, 0.8 + 0.17 * len(names)))
        for index, (axis, (_, part)) in enumerate(zip(axes, groups, strict=True)):
            places = [names.index(name) for name in part["contender"]]
            colors = [self.colors.get(name, OTHERS) for name in part["contender"]]
            axis.hlines(places, part["low"], part["high"], colors=colors)
            axis.scatter(part["mean"], places, c=colors, s=16, zorder=3)
            axis.set(xlabel=part["label"].iloc[0], ylim=(len(names) - 0.5, -0.5))
            axis.set_yticks(range(len(names)), [] if index % PANELS_ACROSS else [as_text(name) for name in names])
        return figure


@register
class Budget(Plot):
    """Expected hypervolume after a number of configurations, picked blindly."""

    def data(self, results: PlotResults) -> pd.DataFrame:
        """Return the expected hypervolume of m configurations, m = 1 … all; empty where no method was swept."""
        curves = results.budget_curves
        swept = len(curves) and curves["tried"].max() > 1
        return in_order(curves, results.order) if swept else pd.DataFrame()

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> Figure:
        from matplotlib.ticker import MaxNLocator

        figure, axes = panels_of_lines(self, frame, "tried")
        for axis in axes:
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        figure.supxlabel("configurations tried")
        figure.supylabel("expected hypervolume")
        return figure


@register
class Pareto(Plot):
    """Two metrics against each other: mean over seeds of every configuration; lines join the best trade-offs."""

    panel = (3.3, 2.9)

    def data(self, results: PlotResults, *, values: list[str] | None = None) -> pd.DataFrame:
        """Return a row per configuration with `x`, `y` and whether no other one of its contender is better in both.

        `values` are the two metrics, across and up; by default the first two objectives. Where these are the
        objectives and the problem knows its front, rows of the contender `front` have its points.
        """
        if values is not None and len(values) != 2:
            raise UserError(f"the plot pareto takes values: two metrics, not {values}")
        parts = []
        for instance, runs in results.done.groupby("instance", sort=False):
            problem = results.problems[str(instance)]
            objectives = [f"loss/{name}" for name in problem.objectives()[:2]]
            x, y = values or (objectives[1], objectives[0])
            if not {x, y} <= {*runs} or runs[[x, y]].dropna().empty:
                continue
            means = runs.groupby(["contender", "method_label", "configuration"], sort=False)[[x, y]].mean().dropna()
            points = means.reset_index().rename(columns={x: "x", y: "y"}).sort_values("contender", kind="stable")
            better = [results.metrics[name].better or "min" for name in (x, y)]
            kept = [undominated(own[["x", "y"]].to_numpy(), better) for _, own in points.groupby("contender")]
            found = [points.assign(best=np.concatenate(kept))]
            front = problem.pareto_front(int(runs["seed"].min()))
            if front is not None and front.shape[1] == 2 and {x, y} == {*objectives}:
                known = pd.DataFrame(front[:, [objectives.index(name) for name in (x, y)]], columns=["x", "y"])
                found.append(known.assign(contender="front", best=True))
            label = runs["instance_label"].iloc[0]
            parts.append(pd.concat(found).assign(instance_label=label, x_metric=x, y_metric=y))
        return in_order(pd.concat(parts), [*results.order, "front"]) if parts else pd.DataFrame()

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> Figure:
        """Draw the configurations of contenders in colour, and the best trade-offs of all."""
        groups = list(frame.groupby("instance_label", sort=False))
        figure, axes = panels([str(label) for label, _ in groups], self.panel)
        for index, (axis, (_, rows)) in enumerate(zip(axes, groups, strict=True)):
            part = rows.sort_values("x", kind="stable")
            front, best = part[part["contender"] == "front"], part[part["best"].astype(bool)]
            if len(front):
                axis.plot(front["x"], front["y"], "--", color=LAW, linewidth=1.2, zorder=4, label="Pareto front")
            grey = broken_lines(best[~self.in_color(best) & (best["contender"] != "front")])
            if len(grey):
                axis.plot(grey["x"], grey["y"], "-", marker=".", color=OTHERS, linewidth=0.8)
            for name, own in part[self.in_color(part)].groupby("contender", sort=False):
                color, marker, kept = self.colors[str(name)], self.markers[str(name)], own[own["best"].astype(bool)]
                axis.plot(own["x"], own["y"], marker, color=color, alpha=0.35, markersize=4, zorder=2)
                axis.plot(kept["x"], kept["y"], f"-{marker}", color=color, linewidth=1.1, label=str(name))
            across, up = (metrics[str(part[name].iloc[0])] for name in ("x_metric", "y_metric"))
            axis.set(xlabel=across.axis, ylabel=up.axis if index % PANELS_ACROSS == 0 else "")
        return figure


@register
class PerformanceProfile(Plot):
    """How often each method is within a factor of the best (performance profile)."""

    name = "performance-profile"
    panel = (5.2, 3.4)

    def data(self, results: PlotResults) -> pd.DataFrame:
        """Return the profiles over the suite's contests; empty with fewer than two."""
        frame = results.performance
        return in_order(frame, results.order) if len(frame) and frame["contests"].iloc[0] > 1 else pd.DataFrame()

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> so.Plot:
        """Draw each profile as steps over a logarithmic factor."""
        import seaborn.objects as so

        widest = min(LARGEST_RATIO, 1.15 * max(1.5, float(frame["ratio"].max())))
        suites, count, blocks = (int(frame[name].iloc[0]) for name in ("suites", "contests", "blocks"))
        of = f"{count} contests of {suites} suites" if suites > 1 else f"{count} contests"
        steps = frame[frame["ratio"] <= widest].sort_values("ratio", kind="stable")
        ends = steps.drop_duplicates("contender", keep="last").assign(ratio=widest)
        risen = steps.assign(mean=steps.groupby("contender")["mean"].shift()).dropna(subset=["mean"])
        drawn = pd.concat([risen.assign(place=0), steps.assign(place=1), ends.assign(place=2)])
        drawn = in_order(drawn.sort_values(["ratio", "place"], kind="stable"), list(self.colors))
        colored = drawn[self.in_color(drawn)]
        described = so.Plot(drawn, x="ratio", y="mean").add(
            so.Paths(color=OTHERS, linewidth=0.8), data=drawn[~self.in_color(drawn)], group="contender"
        )
        described = described.add(so.Path(), data=colored, color="contender", linewidth="contender")
        ticks = so.Continuous(trans="log").tick(at=[at for at in (1, 2, 5, 10, 20, 50, 100) if at <= widest])
        names = list(dict.fromkeys(colored["contender"]))  # profiles often lie on each other: the first are the widest
        widths = {name: 1.3 + 0.7 * place for place, name in enumerate(reversed(names))}
        described = described.scale(color=dict(self.colors), linewidth=widths, x=ticks.label(like="{x:g}"))
        described = described.limit(x=(1.0, widest), y=(-0.02, 1.04))
        title = f"{of}, {blocks} pairs of contest and seed"
        return described.label(x="factor to the best", y="share of contests", title=title)


@register
class EndBySetting(Plot):
    """Where runs end, against a setting: median and range over configurations and seeds."""

    name = "end-by-setting"
    panel = (3.6, 3.0)

    def data(
        self, results: PlotResults, *, value: str, setting: str = "problem.k", law: str = "", scale: str = "log"
    ) -> pd.DataFrame:
        """Return the median and the range of a metric over configurations and seeds, against a setting.

        `law` is a formula of the runs' columns, e.g. `1.536 * sqrt(problem.k - 1)`; `scale` is `log` or `linear`.
        """
        if scale not in SCALES:
            raise unknown("value for scale:", scale, SCALES)
        formula = Expression(law) if law else None
        if not all(results.has(column) for column in (setting, value, *(formula.columns if formula else ()))):
            return pd.DataFrame()
        table = results.panels_over(setting)
        groups = table[table["status"] == "done"].groupby(["panel", "contender", setting])
        frame = groups[value].agg(mean="median", low="min", high="max", runs="count").reset_index()
        frame = frame.rename(columns={setting: "x"}).assign(setting=setting, value=value, scale=scale, law=law)
        if formula:
            columns = [{name: runs[name].tolist() for name in formula.columns} for _, runs in groups]
            frame["law_value"] = [float(np.nanmedian(formula.of(each))) for each in columns]
        return in_order(frame, results.order)

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> so.Plot:
        """Draw a panel for each problem, and the law as a dashed line."""
        import seaborn.objects as so

        setting, value = (metrics[str(frame[name].iloc[0])] for name in ("setting", "value"))
        scale, law = (str(frame[name].iloc[0]) for name in ("scale", "law"))
        drawn = frame.assign(**{name: frame[name].clip(lower=FLOOR) for name in ("mean", "low", "high")})
        described = self.lines(frame if scale == "linear" else drawn, "x", "panel")
        if law:
            lines = frame.drop_duplicates(["panel", "x"])
            described = described.add(so.Line(color=LAW, linestyle="--"), data=lines, y="law_value")
        wide = frame["x"].min() * WIDE < frame["x"].max()
        ticks = so.Continuous().tick(at=sorted(frame["x"].unique())).label(like="{x:g}")
        described = described.scale(x="log" if wide else ticks, **({"y": "log"} if scale == "log" else {}))
        dashed = f"\ndashed: {law}" if law else ""
        return described.label(x=f"{setting.meaning or setting.label}{dashed}", y=value.axis)


def undominated(points: npt.NDArray[np.float64], better: list[Direction]) -> npt.NDArray[np.bool_]:
    """Return which points (n × 2) no other point is at least as good as in both, and better in one."""
    costs = points * [-1.0 if way == "max" else 1.0 for way in better]
    at_least = (costs[:, None] <= costs[None]).all(-1)
    ahead = (costs[:, None] < costs[None]).any(-1)
    kept: npt.NDArray[np.bool_] = np.logical_not((at_least & ahead).any(0))
    return kept
