"""Checked points and the frozen normalisation that every point-set metric shares.

A problem's version fixes two points of objective space, `ideal` (z = 0) and `reference` (z = 1).
A point x, all coordinates minimised, is seen as

    z_i = (x_i − ideal_i) / (reference_i − ideal_i).

Nothing here is estimated from the points, so a value does not move when a rival joins the table.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mobench.errors import NonFiniteError, UserError

Matrix = npt.NDArray[np.float64]
Vector = npt.NDArray[np.float64]

_ROWS_SHOWN = 5


def checked_points(points: npt.ArrayLike, k: int | None = None, name: str = "points") -> Matrix:
    """Return `points` as a float64 matrix, one row per point.

    A shape other than (m, k) raises `UserError`; a NaN or an infinity raises `NonFiniteError` with
    its row. Zero rows are accepted only as an array that still has its columns, shape (0, k): a set
    must be empty on purpose, not because a list happened to be empty.
    """
    array = np.asarray(points, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] == 0 or (k is not None and array.shape[1] != k):
        columns = "the number of objectives" if k is None else str(k)
        raise UserError(f"{name} has shape {array.shape}; accepted: (number of points, {columns})")
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if bad.size:
        shown = "; ".join(f"row {row}: {array[row].tolist()}" for row in bad[:_ROWS_SHOWN])
        more = f"; and {bad.size - _ROWS_SHOWN} more" if bad.size > _ROWS_SHOWN else ""
        raise NonFiniteError(
            f"{name} has {bad.size} non-finite of {len(array)} rows, which have no score: {shown}{more}"
        )
    return array


def checked_bounds(ideal: npt.ArrayLike, reference: npt.ArrayLike) -> tuple[Vector, Vector]:
    """Return the bounds as vectors; every ideal_i must lie below its reference_i by a finite range."""
    low, high = np.asarray(ideal, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    if low.ndim != 1 or low.size == 0 or low.shape != high.shape:
        raise UserError(
            f"hypervolume bounds: ideal has shape {low.shape} and reference {high.shape}; "
            "accepted: one number per objective in each"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        ranges = high - low
    wrong = np.flatnonzero(~(np.isfinite(ranges) & (ranges > 0.0)))
    if wrong.size:
        i = wrong[0]
        raise UserError(
            f"hypervolume bounds: ideal[{i}]={low[i]} and reference[{i}]={high[i]}; "
            "accepted: finite numbers with ideal < reference"
        )
    return low, high


def normalised(points: npt.ArrayLike, ideal: npt.ArrayLike, reference: npt.ArrayLike, name: str = "points") -> Matrix:
    """Return z = (x − ideal) / (reference − ideal) for every row x.

    A finite x that lies too far outside for float64 becomes ±inf, which the callers handle.
    """
    low, high = checked_bounds(ideal, reference)
    array = checked_points(points, low.size, name)
    with np.errstate(over="ignore"):
        normal: Matrix = (array - low) / (high - low)
    return normal


def at_least_one(points: Matrix, metric: str, name: str = "points") -> Matrix:
    """Return `points`, or raise `UserError` where an empty set has no value (pymoo would return 0, the best)."""
    if not len(points):
        raise UserError(f"{metric} of an empty set is not defined: {name} has 0 rows; accepted: at least one")
    return points
