"""The primary's gradient norm along a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from mobench.core.registry import register

from .along_the_run import AlongTheRun

if TYPE_CHECKING:
    from mobench.core.plot import MetricNames, PlotResults


@register
class GradientNorm(AlongTheRun):
    """Gradient norm of the primary along the run: median and range over configurations and seeds."""

    name = "gradient-norm"
    reads = (("gradient_norms", "first"),)

    def data(self, results: PlotResults) -> pd.DataFrame:
        """Return the median and the range of ‖∇L₁‖ at every sampled step."""
        return self.curves(results)

    def number(self, value: Any) -> float | None:
        norm: float | None = value[0]
        return norm

    def label(self, frame: pd.DataFrame, metrics: MetricNames) -> str:
        return "‖∇L₁‖"
