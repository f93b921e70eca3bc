"""The first version of compression, so that its records stay readable and can be repeated."""

from __future__ import annotations

from collections.abc import Mapping

from mobench.core.metric import SHARE, Metric
from mobench.core.operating_points import Bounds, Hypervolume, of_metrics
from mobench.core.registry import register

from .metrics import pruned_metrics, trained_metrics
from .problem import Compression

LATER = ("selection_log10/cross-entropy", "penalised_sparsity")
"""What the second version added to the trained network's metrics."""


@register
class FirstCompression(Compression):
    """Train a network whose weights can be removed afterwards, ranked by its losses.

    Data, networks, objectives and training are those of the second version. Methods are ranked by the hypervolume of
    the losses' logarithms in wide bounds, where a network that classifies at chance level but has nearly no weights
    left scores well. That is why there is a second version. What is called `parameter_sparsity` here is a share of
    the penalised weights, there of all parameters.
    """

    id = "compression@1"
    title = "Network compression, first version"

    def hypervolumes(self) -> tuple[Hypervolume, ...]:
        return (of_metrics(self.hypervolume_metrics(), self.hypervolume_bounds()),)

    def hypervolume_metrics(self) -> tuple[str, ...]:
        return tuple(f"log10/{name}" for name in self.objectives())

    def hypervolume_bounds(self) -> Bounds:
        """Decades: cross-entropy from 1e-3 to 10, penalties from one millionth of the start's value to ten times it."""
        penalties = len(self.objectives()) - 1
        return Bounds(ideal=(-3.0, *(-6.0,) * penalties), reference=(1.0, *(1.0,) * penalties))

    def metrics(self) -> tuple[Metric, ...]:
        trained = (metric for metric in trained_metrics(self.objectives(), self.holdout) if metric.name not in LATER)
        label, meaning = "share of zero weights", "share of the penalised weights of negligible magnitude"
        sparsity = Metric("parameter_sparsity", label, "", "max", SHARE, meaning)
        return (
            *(sparsity if metric.name == sparsity.name else metric for metric in trained),
            *pruned_metrics(self.holdout),
        )

    def recorded(self, measured: Mapping[str, float]) -> Mapping[str, float]:
        declared = {metric.name for metric in self.metrics()}
        kept = {name: value for name, value in measured.items() if name in declared}
        if "parameter_sparsity" in kept:
            kept["parameter_sparsity"] = measured["penalised_sparsity"]
        return kept
