"""What is measured of a trained network: as it is, and with 80 to 99 % of its parameters removed or set to zero."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from mobench.core.metric import NON_NEGATIVE, SHARE, Metric

TARGETS = (0.80, 0.85, 0.90, 0.95, 0.99)
"""Fractions of parameters to remove, at which a trained network is evaluated."""
BITS = (8, 6, 4, 3, 2)
"""Bits for each penalised weight at which a trained network is evaluated, if it was trained to be rounded."""
NATIVE = "@native"
"""How a metric's name ends where it is measured after removing the filters that training itself made negligible."""

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


def bit_mark(bits: int) -> str:
    """Return how a metric's name ends where it is measured with weights of so many bits: `@4bit`."""
    return f"@{bits}bit"


def trained_metrics(objectives: Sequence[str], holdout: bool) -> Iterator[Metric]:
    """Yield what is measured before anything is removed: losses, their logarithms, sparsity and rank."""
    task, *penalties = objectives
    yield Metric(f"loss/{task}", f"{task} loss", "", "min", NON_NEGATIVE, "mean cross-entropy of the test images")
    yield Metric(f"log10/{task}", f"log₁₀ {task}", "", "min", FROM_LOG10, "decimal logarithm of the cross-entropy")
    chosen = f"decimal logarithm of the cross-entropy of {_chosen_on(holdout)}"
    words, data = f"log₁₀ {task}, {_chosen_word(holdout)}", _chosen_data(holdout)
    yield Metric(f"selection_log10/{task}", words, "", "min", FROM_LOG10, chosen, data)
    for name in penalties:
        relative = f"decimal logarithm of '{name}' at the end, relative to its value at the start"
        yield Metric(f"loss/{name}", f"{name} loss", "", "min", NON_NEGATIVE, f"the objective '{name}' at the end")
        yield Metric(f"log10/{name}", f"log₁₀ {name}", "", "min", FROM_LOG10, relative)
    filters, zeros = "share of filters without weight", "share of zero parameters"
    yield Metric("group_sparsity", filters, "", "max", SHARE, "share of output filters of norm below 1e-4")
    of_all = "share of all the network's parameters that are below 1e-8 in magnitude"
    yield Metric("parameter_sparsity", zeros, "", "max", SHARE, of_all)
    of_penalised = "share of the penalised convolution weights that are below 1e-8 in magnitude"
    yield Metric("penalised_sparsity", "share of zero penalised weights", "", "max", SHARE, of_penalised)
    rank = "mean effective rank of the weight matrices"
    yield Metric("effective_rank", "effective rank", "", "min", NON_NEGATIVE, rank)


class Form(NamedTuple):
    """A form of the network, and what it is worth: accuracies in percent, counted sizes by name."""

    tested: float
    selected: float
    sizes: Mapping[str, float]


Forms = Mapping[str, Form]
"""By how the names of their metrics end."""
Measured = tuple[Metric, Callable[[Forms], float] | None]
"""A metric, and how it is read of the forms; None where it is measured apart: latencies, and ranks."""


def declared(rows: Iterable[Measured]) -> Iterator[Metric]:
    """Yield the metrics."""
    return (metric for metric, _ in rows)


def measured(rows: Iterable[Measured], forms: Forms) -> dict[str, float]:
    """Return the metrics of these forms."""
    return {metric.name: read(forms) for metric, read in rows if read is not None}


def pruned_metrics(holdout: bool) -> Iterator[Measured]:
    """Yield accuracies and costs of the whole network, at every target, and without its negligible filters."""
    for end, share in [("", ""), *((mark(target), f"{100 * target:g} %") for target in TARGETS)]:
        yield from _evaluated(end, f", {share} removed", f"with {share} of the parameters removed", holdout)
        if end:
            removed = f"share of the parameters that was removed for the target of {share}"
            metric = Metric(f"reduction{end}", f"share removed for {share}", range=SHARE, meaning=removed)
            yield metric, _size("reduction", end)
    mean = "mean of the test accuracies over all shares of parameters removed"
    yield (
        Metric("accuracy@mean", "mean test accuracy when pruned", "%", "max", PERCENT, mean, "test"),
        lambda forms: sum(forms[mark(target)].tested for target in TARGETS) / len(TARGETS),
    )


def native_metrics(holdout: bool) -> Iterator[Measured]:
    """Yield accuracy and costs without the filters of norm below 1e-4, and the share of parameters that they were."""
    of = "without the filters of norm below 1e-4"
    yield from _evaluated(NATIVE, ", natively pruned", of, holdout)
    removed = "share of the parameters that go with the filters of norm below 1e-4"
    metric = Metric(f"reduction{NATIVE}", "share natively pruned", "", "max", SHARE, removed)
    yield metric, _size("reduction", NATIVE)


def sparse_metrics(holdout: bool, targets: Sequence[float] = TARGETS) -> Iterator[Measured]:
    """Yield what is measured with the smallest single weights set to zero, and the rank that is left."""
    kept = "share of all the network's parameters that are not zero"
    whole = f"{kept} (below 1e-8 counts as zero)"
    yield Metric("nonzero", "share of parameters not zero", "", "min", SHARE, whole), _size("nonzero", "")
    for target in targets:
        share, end = f"{100 * target:g} %", mark(target)
        of, label = f"with the smallest weights zero, {share} of all parameters", f", {share} zero"
        yield from _accuracies("sparse_accuracy", end, label, of, holdout)
        metric = Metric(f"nonzero{end}", f"share not zero for {share}", "", "min", SHARE, f"{kept}, {of}")
        yield metric, _size("nonzero", end)
    rank = "effective rank relative to that of the network at its start"
    yield Metric("rank_kept", "share of the effective rank kept", "", "min", NON_NEGATIVE, rank), None


def quantised_metrics(holdout: bool) -> Iterator[Measured]:
    """Yield what is measured with the penalised weights rounded to few bits."""
    for bits in BITS:
        of, label, end = f"with penalised weights of {bits} bits", f", {bits} bits", bit_mark(bits)
        yield from _accuracies("quantised_accuracy", end, label, of, holdout)
        kept = f"size of all parameters {of}, relative to 32 bits for each"
        metric = Metric(f"bits_kept{end}", f"share of the size kept{label}", "", "min", SHARE, kept)
        yield metric, _size("bits_kept", end)


def _evaluated(end: str, label: str, of: str, holdout: bool) -> Iterator[Measured]:
    """Yield accuracies and costs of one form of the network."""
    label, of = (label, of) if end else ("", "of the whole network")
    yield from _accuracies("accuracy", end, label, of, holdout)
    for name, words, unit, meaning in COSTS:
        read = None if name == "latency_ms" else _size(name, end)
        yield Metric(f"{name}{end}", f"{words}{label}", unit, "min", NON_NEGATIVE, f"{meaning} {of}"), read


def _accuracies(name: str, end: str, label: str, of: str, holdout: bool) -> Iterator[Measured]:
    """Yield the accuracy of one form on test images, and on those that configurations are chosen on."""
    comma = "" if name == "accuracy" else ","
    on_test, chosen = f"accuracy {of}{comma} on test images", f"accuracy {of}{comma} on {_chosen_on(holdout)}"
    metric = Metric(f"{name}{end}", f"test accuracy{label}", "%", "max", PERCENT, on_test, "test")
    yield metric, lambda forms: forms[end].tested
    words, data = f"{_chosen_word(holdout)} accuracy{label}", _chosen_data(holdout)
    metric = Metric(f"selection_{name}{end}", words, "%", "max", PERCENT, chosen, data)
    yield metric, lambda forms: forms[end].selected


def _size(name: str, end: str) -> Callable[[Forms], float]:
    return lambda forms: forms[end].sizes[name]


def _chosen_on(holdout: bool) -> str:
    return "validation images, for choosing configurations" if holdout else "test images, as none are held out"


def _chosen_word(holdout: bool) -> str:
    """Return how labels call what configurations are chosen by."""
    return "validation" if holdout else "selection"


def _chosen_data(holdout: bool) -> Literal["validation", "test"]:
    return "validation" if holdout else "test"
