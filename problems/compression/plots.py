"""Accuracy of pruned networks against what was removed, and against what they cost to run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pandas as pd

from mobench.core.plot import MetricNames, Plot, PlotResults
from mobench.core.registry import methods, register
from mobench.errors import unknown

from .metrics import NATIVE, TARGETS, mark

if TYPE_CHECKING:
    import seaborn.objects as so

COSTS = ("latency_ms", "bytes", "flops")


@register
class AccuracyReduction(Plot):
    """Accuracy of the selected configuration against parameters removed."""

    name = "accuracy-reduction"
    panel = (3.4, 2.9)

    def data(self, results: PlotResults) -> pd.DataFrame:
        """Return the accuracy of the selected configuration at every reduction target."""
        return selected_at_targets(results, TARGETS)

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> so.Plot:
        described = self.lines(frame, "reduction", "instance_label")
        return described.label(x="parameters removed (%)", y=metrics["accuracy"].axis)


@register
class AccuracyCost(Plot):
    """Accuracy against latency, file size and FLOPs."""

    name = "accuracy-cost"

    def data(self, results: PlotResults, *, at: str = "targets") -> pd.DataFrame:
        """Return accuracies with their costs, a row for each cost.

        At the `targets`, and unpruned, those of the selected configuration; with `native` those of every configuration
        without the filters that training itself made negligible.
        """
        if at not in ("targets", "native"):
            raise unknown("value for at:", at, ("targets", "native"))
        wide = selected_at_targets(results, (0.0, *TARGETS)) if at == "targets" else natively_pruned(results)
        known = [cost for cost in COSTS if cost in wide]
        return pd.concat([wide.assign(cost=cost, value=wide[cost]) for cost in known]) if known else pd.DataFrame()

    def draw(self, frame: pd.DataFrame, metrics: MetricNames) -> so.Plot:
        """Draw a line from target to target, a panel for each problem and cost."""
        several = frame["instance_label"].nunique() > 1
        panels = frame["cost"].map(lambda cost: metrics[cost].axis)
        panels = frame["instance_label"] + ": " + panels if several else panels
        described = self.lines(frame.assign(panel=panels), "value", "panel").scale(x="log")
        return described.label(x="", y=metrics["accuracy"].axis)


def selected_at_targets(results: PlotResults, targets: Iterable[float]) -> pd.DataFrame:
    """Return one row per problem instance, target and contender; empty where no run was pruned.

    `target` is a percentage, 0 for the network as trained, `reduction` what was really removed; `mean`, `low`, `high`
    are the test accuracy of the configuration selected at that target; the costs are means over its runs.
    """
    runs = results.done.groupby("configuration") if len(results.done) else None
    parts = []
    for target in targets:
        end = mark(target) if target else ""
        if runs is None or not {f"accuracy{end}", f"reduction{mark(TARGETS[0])}"} <= {*results.table}:
            continue
        chosen = results.selected_by(
            f"accuracy{end}", results.select_metric(f"selection_accuracy{end}", f"accuracy{end}")
        )
        measured = {name: f"{name}{end}" for name in ("reduction", *COSTS) if f"{name}{end}" in results.table}
        means = pd.DataFrame({name: runs[column].mean() for name, column in measured.items()})
        means["reduction"] = 100.0 * means["reduction"] if "reduction" in means else 0.0
        parts.append(chosen.join(means, on="configuration").assign(target=100.0 * target))
    return _in_order(pd.concat(parts), results) if parts else pd.DataFrame()


def natively_pruned(results: PlotResults) -> pd.DataFrame:
    """Return one row per problem instance and configuration: test accuracy and mean costs, natively pruned.

    A method that trains on one objective alone is shown as the unpruned network. Empty where no run was pruned.
    """
    if f"accuracy{NATIVE}" not in results.table:
        return pd.DataFrame()
    known, keys = methods(), ["instance_label", "contender", "configuration", "method", "method_label"]
    runs = results.done.groupby(keys, sort=False)
    wide = results.summary(keys, ["accuracy", f"accuracy{NATIVE}"]).query("n > 0")
    dense = wide["method"].map(lambda name: name in known and known[name].one_objective)
    wide = wide[(wide["metric"] == "accuracy") == dense]
    for name in (*COSTS, "reduction"):
        pruned = wide.join(runs[f"{name}{NATIVE}"].mean().rename("pruned"), on=keys)["pruned"]
        whole = wide.join(runs[name].mean().rename("whole"), on=keys)["whole"] if name in COSTS else 0.0
        wide[name] = pruned.mask(dense, whole)
    return _in_order(wide.sort_values("reduction", kind="stable"), results)


def _in_order(frame: pd.DataFrame, results: PlotResults) -> pd.DataFrame:
    places = {name: place for place, name in enumerate(results.order)}
    return frame.sort_values("contender", key=lambda names: names.map(places), kind="stable", ignore_index=True)
