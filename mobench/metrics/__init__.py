"""Metrics: pure functions on arrays. Importing this costs numpy alone; pymoo and pandas load when used."""

from mobench.metrics.budget import BudgetCurve, expected_hypervolume
from mobench.metrics.distance import gd_plus, igd_plus
from mobench.metrics.hypervolume import NonPositiveError, hypervolume, paper_hypervolume
from mobench.metrics.intervals import Interval, interval
from mobench.metrics.pairs import Difference, paired_difference
from mobench.metrics.performance import performance_profile, performance_ratios
from mobench.metrics.progress import secondary_cosines, secondary_progress
from mobench.metrics.ranks import (
    cliques,
    critical_difference,
    friedman_p_value,
    holm,
    nemenyi_q,
    ranks_of,
    signed_rank_p_value,
)
from mobench.metrics.region import distance_to_region, region_signal
from mobench.metrics.stationarity import composite_residual, hull_margin, pareto_residual
from mobench.metrics.summary import summarize

__all__ = [
    "BudgetCurve",
    "Difference",
    "Interval",
    "NonPositiveError",
    "cliques",
    "composite_residual",
    "critical_difference",
    "distance_to_region",
    "expected_hypervolume",
    "friedman_p_value",
    "gd_plus",
    "holm",
    "hull_margin",
    "hypervolume",
    "igd_plus",
    "interval",
    "nemenyi_q",
    "paired_difference",
    "paper_hypervolume",
    "pareto_residual",
    "performance_profile",
    "performance_ratios",
    "ranks_of",
    "region_signal",
    "secondary_cosines",
    "secondary_progress",
    "signed_rank_p_value",
    "summarize",
]
