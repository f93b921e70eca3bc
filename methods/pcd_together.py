"""PCD of many runs at once: the same operations in the same order as in `pcd.py`, each on the numbers of all runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mobench.core.method import Matrix, Step, Vector
from mobench.solvers.primary_projection import independent_projections, squared_lengths

if TYPE_CHECKING:
    from .pcd import PCD

PRODUCTS = 2.0**-36
"""Of ‖d̃‖², relative to that of its terms, what is left by rounded sums of products, whatever type gradients have."""


def together(methods: Sequence[PCD], steps: Sequence[Step]) -> Matrix:
    """Do as `PCD.weights` for all of them, and note what it notes."""
    grams = np.array([step.gram for step in steps])
    squares = np.diagonal(grams, axis1=1, axis2=2).copy()
    products, own = grams[:, 0, 1:], squares[:, 1:]
    scales = _scales_together(methods, squares)
    first, secondary = scales[:, 0], scales[:, 1:]
    ratios = secondary / first[:, None]
    tolerances = np.array([method._tolerances(step) for method, step in zip(methods, steps, strict=True)])
    resolution = np.array([step.resolution for step in steps])
    tau = tolerances * ratios
    multipliers, feasible = _project_together(methods, grams, tau, resolution)
    primary = squares[:, 0]
    by_primary = np.array([method.rescale == "primary" for method in methods])
    multipliers[(primary == 0.0) & by_primary] = 0.0

    along, demanded, terms, shortest = primary.copy(), np.zeros(len(steps)), primary.copy(), np.zeros(len(steps))
    for j in range(multipliers.shape[1]):  # sums in the order of the secondaries
        multiplier, threshold, square = multipliers[:, j], tau[:, j], own[:, j]
        shortest = np.maximum(shortest, threshold * threshold * square)
        along += multiplier * products[:, j]
        demanded += multiplier * threshold * square
        terms += multiplier * multiplier * square
    length = along + demanded
    if multipliers.shape[1] > 2:
        measured = squared_lengths(grams, np.column_stack([np.ones(len(steps)), multipliers]))
        length = np.where(np.abs(measured - length) > 1e-6 * measured, measured, length)
    length = np.where(length < (1.0 - 1e-6) * shortest, shortest, length)
    asked = demanded > 0.0
    blur = np.where(asked, np.minimum(resolution, PRODUCTS), resolution)
    resolved = length > blur * terms
    with np.errstate(divide="ignore", invalid="ignore"):  # what is not resolved is not used
        rescaled = np.where(
            resolved, np.sqrt(primary / length), np.where(asked, np.sqrt(primary / (blur * terms)), 0.0)
        )
        scale = np.where(by_primary, rescaled, first)
        deviation = np.sqrt(np.maximum(0.0, 1.0 + scale * (scale * length - 2.0 * along) / primary))
        alignment = along / np.sqrt(length) / np.sqrt(primary)
    slack = (secondary * (first[:, None] * products - tolerances * secondary * own)).min(axis=1)
    counts = (multipliers > 0.0).sum(axis=1)
    columns = (counts, ~feasible, slack, np.sqrt(primary), np.sqrt(own[:, 0]), deviation, alignment)
    noted = zip(
        steps,
        multipliers / ratios,
        (resolved & (primary > 0.0)).tolist(),
        *(each.tolist() for each in columns),
        strict=True,
    )
    for step, each, known, active, infeasible, least, norm_1, norm_2, deviated, aligned in noted:
        notes = {"active": active, "infeasible": infeasible, "multipliers": each, "slack": least}
        notes |= {"primary_norm": norm_1, "secondary_norm": norm_2}
        step.note(**notes, **({"deviation": deviated, "alignment": aligned} if known else {}))
    return np.column_stack([scale, scale[:, None] * multipliers])


def _scales_together(methods: Sequence[PCD], squares: Matrix) -> Matrix:
    """Do as `PCD._scales` with moving averages."""
    factors = []
    for method in methods:
        method.steps += 1
        corrected = 1.0 / (1.0 - method.beta**method.steps)
        additive = method.epsilon_form == "additive"
        added = method.epsilon if additive else 0.0
        factors.append((method.beta, corrected if additive else corrected * (1.0 + method.epsilon), added))
    beta, corrected, added = np.array(factors).T[:, :, None]
    averages = beta * np.array([method.averages for method in methods]) + (1.0 - beta) * squares
    for method, average in zip(methods, averages.tolist(), strict=True):
        method.averages = average
    normaliser = averages * corrected + added
    return np.where(normaliser > 0.0, 1.0 / np.sqrt(np.where(normaliser > 0.0, normaliser, 1.0)), 1.0)


def _project_together(
    methods: Sequence[PCD], grams: npt.NDArray[np.float64], tau: Matrix, resolutions: Vector
) -> tuple[Matrix, npt.NDArray[np.bool_]]:
    """Do as `PCD._project`: return multipliers and what is feasible; where it is not, `tau` becomes what is met."""
    feasible = np.ones(len(grams), dtype=np.bool_)
    if tau.shape[1] == 2:
        multipliers, solved = np.empty(tau.shape), np.zeros(len(grams), dtype=np.bool_)
    else:
        multipliers, solved = independent_projections(grams, tau, resolutions)
    for i in np.flatnonzero(~solved).tolist():
        multipliers[i], tau[i], feasible[i] = methods[i]._project(grams[i], tau[i].tolist(), float(resolutions[i]))
    return multipliers, feasible
