"""What is measured of a trained network: as it is, and with 80 to 99 % of its parameters removed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal

from mobench.core.metric import NON_NEGATIVE, SHARE, Metric

TARGETS = (0.80, 0.85, 0.90, 0.95, 0.99)
"""Fractions of parameters to remove, at which a trained network is evaluated."""

PERCENT = (0.0, 100.0)
FROM_LOG10 = (-12.0, math.inf)
"""Logarithms are taken of at least 1e-12."""
COSTS = (
    ("flops", "operations per image", "FLOPs", "multiply-adds for one image"),
    ("parameters", "parameters", "", "number of parameters"),
    ("bytes", "file size", "B", "size of the file"),
    ("latency_ms", "CPU latency", "ms", "median milliseconds for one image on one CPU thread"),
)
"""Name, label, unit and meaning."""


def mark(target: float) -> str:
    """Return how a metric's name ends where it is measured after pruning: `@90`."""
    return f"@{100 * target:g}"


def trained_metrics(objectives: Sequence[str]) -> Iterator[Metric]:
    """Yield what is measured before anything is removed: losses, their logarithms, sparsity and rank."""
    task, *penalties = objectives
    yield Metric(f"loss/{task}", f"{task} loss", "", "min", NON_NEGATIVE, "mean cross-entropy of the test images")
    yield Metric(f"log10/{task}", f"log₁₀ {task}", "", "min", FROM_LOG10, "decimal logarithm of the cross-entropy")
    for name in penalties:
        relative = f"decimal logarithm of '{name}' at the end, relative to its value at the start"
        yield Metric(f"loss/{name}", f"{name} loss", "", "min", NON_NEGATIVE, f"the objective '{name}' at the end")
        yield Metric(f"log10/{name}", f"log₁₀ {name}", "", "min", FROM_LOG10, relative)
    filters, zeros = "share of filters without weight", "share of zero weights"
    yield Metric("group_sparsity", filters, "", "max", SHARE, "share of output filters of negligible norm")
    yield Metric("parameter_sparsity", zeros, "", "max", SHARE, "share of weights of negligible magnitude")
    rank = "mean effective rank of the weight matrices"
    yield Metric("effective_rank", "effective rank", "", "min", NON_NEGATIVE, rank)


def pruned_metrics(holdout: bool) -> Iterator[Metric]:
    """Yield accuracies and costs of the whole network and at every target."""
    chosen_on = "validation images, for choosing configurations" if holdout else "test images, as none are held out"
    data: Literal["validation", "test"] = "validation" if holdout else "test"
    for target in (0.0, *TARGETS):
        share = f"{100 * target:g} %"
        end, label, of = (
            (mark(target), f", {share} removed", f"with {share} of the parameters removed")
            if target
            else ("", "", "of the whole network")
        )
        yield Metric(
            f"accuracy{end}", f"test accuracy{label}", "%", "max", PERCENT, f"accuracy {of} on test images", "test"
        )
        chosen = f"accuracy {of} on {chosen_on}"
        yield Metric(f"selection_accuracy{end}", f"validation accuracy{label}", "%", "max", PERCENT, chosen, data)
        for name, words, unit, meaning in COSTS:
            yield Metric(f"{name}{end}", f"{words}{label}", unit, "min", NON_NEGATIVE, f"{meaning} {of}")
        if target:
            removed = f"share of the parameters that was removed for the target of {share}"
            yield Metric(f"reduction{end}", f"share removed for {share}", range=SHARE, meaning=removed)
    mean = "mean of the test accuracies over all shares of parameters removed"
    yield Metric("accuracy@mean", "mean test accuracy when pruned", "%", "max", PERCENT, mean, "test")
