"""Metrics: pure functions on arrays. Importing this costs numpy alone; pymoo and pandas load when used."""

from mobench.metrics.budget import BudgetCurve, expected_hypervolume
from mobench.metrics.distance import gd_plus, igd_plus
from mobench.metrics.hypervolume import NonPositiveError, hypervolume, paper_hypervolume
from mobench.metrics.intervals import Interval, interval
from mobench.metrics.pairs import Difference, paired_difference
from mobench.metrics.progress import secondary_cosines, secondary_progress
from mobench.metrics.region import distance_to_region, region_signal
from mobench.metrics.stationarity import composite_residual, hull_margin, pareto_residual
from mobench.metrics.summary import summarize

__all__ = [
    "BudgetCurve",
    "Difference",
    "Interval",
    "NonPositiveError",
    "composite_residual",
    "distance_to_region",
    "expected_hypervolume",
    "gd_plus",
    "hull_margin",
    "hypervolume",
    "igd_plus",
    "interval",
    "paired_difference",
    "paper_hypervolume",
    "pareto_residual",
    "region_signal",
    "secondary_cosines",
    "secondary_progress",
    "summarize",
]
