"""The hypervolumes of compression: what a practitioner gets at which cost, and what the losses say.

A run has several operating points: the whole network, the network at every target, and without the filters that
training itself made negligible. Errors run from 0 to chance level, where a classifier that says the same of every
image adds nothing; costs run on a logarithmic scale up to those of the whole network.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from mobench.core.operating_points import Axis, Hypervolume, OperatingPoint

from .data import CLASSES
from .metrics import BITS, NATIVE, TARGETS, bit_mark, mark

CHANCE = {"digits": 100 * 37 / 360, "cifar-10": 10.0, "cifar-100": 1.0}
"""The percentage of test images in the largest class: what a classifier reaches that never looks at an image."""
PRUNED = ("", *map(mark, TARGETS), NATIVE)
"""How the metrics of the operating points end."""


def measured(holdout: bool) -> str:
    """Say which points count, and on what they are measured."""
    chosen = "validation data, measured on test data" if holdout else "test data, as none is held out"
    return f"in [0, 1]; the points that are not dominated on {chosen}"


def pruned_volumes(dataset: str, holdout: bool) -> tuple[Hypervolume, ...]:
    """Return the volumes of (test error, cost): parameters, operations, latency."""
    return (
        _cost("size", dataset, holdout, "parameters", "share of parameters kept", 1e-3),
        _cost("flops", dataset, holdout, "flops", "share of operations kept", 1e-3),
        _cost("latency", dataset, holdout, "latency_ms", "share of the CPU latency kept", 1e-2),
    )


def sparse_volumes(dataset: str, holdout: bool) -> tuple[Hypervolume, ...]:
    """Return the volumes of (test error, share of parameters not zero) and of (test error, share of the rank kept)."""
    points = [("accuracy", "nonzero"), *((f"sparse_accuracy{end}", f"nonzero{end}") for end in map(mark, TARGETS))]
    return (
        Hypervolume(
            "sparsity",
            "HV sparsity",
            f"hypervolume of test error and share of parameters not zero, {measured(holdout)}",
            (_error(dataset), Axis("share of parameters not zero", 1e-3, 1.0, log=True)),
            tuple(OperatingPoint(values, _selection(values)) for values in points),
        ),
        Hypervolume(
            "rank",
            "HV rank",
            f"hypervolume of test error and share of the effective rank kept, {measured(holdout)}",
            (_error(dataset), Axis("share of the effective rank kept", 1e-2, 1.0, log=True)),
            (OperatingPoint(("accuracy", "rank_kept"), ("selection_accuracy", "rank_kept")),),
        ),
    )


def quantised_volumes(dataset: str, holdout: bool) -> tuple[Hypervolume, ...]:
    """Return the volume of (test error, share of the size kept) over all numbers of bits."""
    points = [(f"quantised_accuracy{end}", f"bits_kept{end}") for end in map(bit_mark, BITS)]
    return (
        Hypervolume(
            "bits",
            "HV bits",
            f"hypervolume of test error and share of the size kept by rounding weights, {measured(holdout)}",
            (_error(dataset), Axis("share of the size kept", 1 / 32, 1.0, log=True)),
            tuple(OperatingPoint(values, _selection(values)) for values in points),
        ),
    )


def loss_volume(dataset: str, objectives: Sequence[str], holdout: bool) -> Hypervolume:
    """Return the volume of the losses in decades, up to chance-level cross-entropy and the penalties at the start."""
    task, *penalties = objectives
    chance = math.log10(math.log(CLASSES[dataset]))
    names = [f"log10/{name}" for name in penalties]
    return Hypervolume(
        "losses",
        "HV losses",
        f"hypervolume of the losses' decimal logarithms, {measured(holdout)}",
        (Axis(f"log10/{task}", -3.0, chance), *(Axis(name, -6.0, 0.0) for name in names)),
        (OperatingPoint((f"log10/{task}", *names), (f"selection_log10/{task}", *names)),),
    )


def _cost(name: str, dataset: str, holdout: bool, metric: str, label: str, ideal: float) -> Hypervolume:
    points = [(f"accuracy{end}", f"{metric}{end}") for end in PRUNED]
    return Hypervolume(
        name,
        f"HV {name}",
        f"hypervolume of test error and {label}, {measured(holdout)}",
        (_error(dataset), Axis(label, ideal, 1.0, log=True, relative_to=metric)),
        tuple(OperatingPoint(values, _selection(values)) for values in points),
    )


def _error(dataset: str) -> Axis:
    return Axis("test accuracy (%)", 100.0, CHANCE[dataset])


def _selection(values: tuple[str, str]) -> tuple[str, str]:
    return f"selection_{values[0]}", values[1]
