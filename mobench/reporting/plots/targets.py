"""The selected configuration at every reduction target, with what it costs to run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pandas as pd

from mobench.core.registry import methods
from mobench.scoring.indicators.intervals import interval

from .panels import in_order

if TYPE_CHECKING:
    from mobench.core.plot import PlotResults

COSTS = ("latency_ms", "bytes", "flops")
"""What a network costs."""
NATIVE = "@native"
"""How metrics end that are measured without the filters that training itself made negligible."""


def selected_at_targets(results: PlotResults) -> pd.DataFrame:
    """Return one row per problem instance, target and contender.

    `target` is the percentage of parameters to remove, 0 for the network as trained; `reduction` what
    was really removed; `mean`, `low`, `high` the test accuracy of the configuration selected at that
    target; `latency_ms`, `bytes` and `flops` its mean costs. Empty where no run was pruned.
    """
    table = results.table
    marks = sorted(
        filter(None, (re.fullmatch(r"accuracy@([\d.]+)", str(column)) for column in table)), key=lambda m: float(m[1])
    )
    parts = []
    for mark in ["", *(f"@{match[1]}" for match in marks)] if marks else []:
        value = f"accuracy{mark}"
        chosen = results.selected_by(value, results.select_metric(f"selection_{value}", value))
        target = float(mark.removeprefix("@") or 0.0)
        runs = table[table["status"] == "done"].groupby("configuration")
        metrics = {f"{name}{mark}": name for name in COSTS if f"{name}{mark}" in table}
        means = runs[[*metrics]].mean().rename(columns=metrics)
        means["reduction"] = 100.0 * runs[f"reduction{mark}"].mean() if mark else 0.0
        joined = chosen.join(means, on="configuration").assign(target=target)
        parts.append(in_order(joined, results.order))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def natively_pruned(results: PlotResults) -> pd.DataFrame:
    """Return one row per problem instance and configuration: test accuracy and mean costs, natively pruned.

    The columns are those of `selected_at_targets`. A method that trains on one objective alone is shown as the unpruned
    network, at target 0; a contender's other configurations stand in the order of what they remove. Empty where no
    run was natively pruned.
    """
    value = f"accuracy{NATIVE}"
    if not results.has(value):
        return pd.DataFrame()
    rows = []
    for configuration, runs in results.done.groupby("configuration", sort=False):
        first = runs.iloc[0]
        dense = first["method"] in methods() and methods()[first["method"]].one_objective
        found = interval(runs["accuracy" if dense else value].astype(float))
        rows.append(
            {
                "instance_label": first["instance_label"],
                "contender": first["contender"],
                "configuration": configuration,
                "chosen": first["method_label"],
                "target": 0.0 if dense else 1.0,
                "reduction": 0.0 if dense else 100.0 * float(runs[f"reduction{NATIVE}"].mean()),
                "mean": found.mean,
                "low": found.low,
                "high": found.high,
                **{name: float(runs[name if dense else f"{name}{NATIVE}"].mean()) for name in COSTS},
            }
        )
    frame = pd.DataFrame(rows).astype({"low": float, "high": float}).sort_values("reduction", kind="stable")
    return in_order(frame, results.order)
