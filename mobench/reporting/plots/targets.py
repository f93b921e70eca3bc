"""The selected configuration at every reduction target, with what it costs to run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pandas as pd

from mobench.scoring.selection import Criterion, selected_configurations

from .panels import in_order

if TYPE_CHECKING:
    from mobench.scoring.suite_results import SuiteResults

COSTS = ("latency_ms", "bytes", "flops")
"""What a network costs."""


def selected_at_targets(results: SuiteResults) -> pd.DataFrame:
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
        criterion = Criterion(value, results.select_metric(f"selection_{value}", value))
        chosen = selected_configurations(table, criterion, by="contender")
        target = float(mark.removeprefix("@") or 0.0)
        runs = table[table["status"] == "done"].groupby("configuration")
        metrics = {f"{name}{mark}": name for name in COSTS if f"{name}{mark}" in table}
        means = runs[[*metrics]].mean().rename(columns=metrics)
        means["reduction"] = 100.0 * runs[f"reduction{mark}"].mean() if mark else 0.0
        labels = dict(zip(table["instance"], table["instance_label"], strict=True))
        joined = chosen.join(means, on="configuration").assign(target=target)
        joined.insert(0, "instance_label", joined["instance"].map(labels))
        parts.append(in_order(joined, results.order))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
