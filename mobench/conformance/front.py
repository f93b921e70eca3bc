"""Checks of what a problem states about objective space."""

from __future__ import annotations

import re

import numpy as np

from mobench.conformance.finding import Verdict
from mobench.core.method import Matrix
from mobench.core.operating_points import Hypervolume
from mobench.core.problem import Problem


def identity(problem: Problem) -> Verdict:
    """The id is a name and a version."""
    good = re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*@[1-9][0-9]*", problem.id) is not None
    words = "is a name and a version" if good else "is not of the form name@version, in lower case with hyphens"
    return Verdict(good, None, f"'{problem.id}' {words}")


def hypervolume_bounds(problem: Problem) -> Verdict:
    """The box of the hypervolume has two finite corners, the ideal below the reference."""
    bounds = problem.hypervolume_bounds()
    if bounds is None:
        return Verdict(True, None, "no hypervolume is defined")
    size = len(problem.hypervolume_metrics())
    if not len(bounds.ideal) == len(bounds.reference) == size:
        return Verdict(False, None, f"corners have {len(bounds.ideal)} and {len(bounds.reference)} numbers, not {size}")
    corners = np.array([bounds.ideal, bounds.reference])
    if not np.isfinite(corners).all() or (corners[0] >= corners[1]).any():
        return Verdict(
            False, None, f"the ideal {bounds.ideal} is not finite and below the reference {bounds.reference}"
        )
    volumes = problem.hypervolumes()
    for volume in volumes:
        fault = _fault(volume)
        if fault or sum(volume.name == other.name for other in volumes) > 1:
            return Verdict(False, None, fault or f"two hypervolumes are called '{volume.name}'")
    names = "" if len(volumes) == 1 else f"; ranked by '{volumes[0].name}' of {len(volumes)} hypervolumes"
    return Verdict(True, None, f"a box in {size} metrics, from the ideal {bounds.ideal} to {bounds.reference}{names}")


def _fault(volume: Hypervolume) -> str:
    """Say what is wrong with a named hypervolume, nothing where it is sound."""
    ends = np.array([[axis.ideal, axis.reference] for axis in volume.axes])
    if not len(volume.axes) or not np.isfinite(ends).all() or (ends[:, 0] == ends[:, 1]).any():
        return f"an axis of hypervolume '{volume.name}' has no finite range"
    if any(axis.log and min(axis.ideal, axis.reference) <= 0.0 for axis in volume.axes):
        return f"a logarithmic axis of hypervolume '{volume.name}' does not run over numbers above 0"
    lengths = {len(names) for point in volume.points for names in (point.values, point.select) if names}
    if lengths != {len(volume.axes)}:
        return f"points of hypervolume '{volume.name}' have {sorted(lengths)} coordinates for {len(volume.axes)} axes"
    return ""


def front(problem: Problem) -> Verdict:
    """Points of the stated front are finite, and none dominates another."""
    count = 0
    for seed in (0, 1):
        points = problem.pareto_front(seed)
        if points is None:
            return Verdict(True, None, "no front is stated")
        size = len(problem.hypervolume_metrics())
        if points.ndim != 2 or points.shape[1] != size or not len(points):
            return Verdict(False, None, f"the front has shape {points.shape}, not (points, {size})")
        if not np.isfinite(points).all():
            return Verdict(False, None, "the front has points that are not finite")
        dominated = int(_dominated(points).sum())
        if dominated:
            return Verdict(False, float(dominated), f"{dominated} points of the front are dominated by others")
        count += len(points)
    return Verdict(True, float(count), f"{count} points of two seeds, none dominated")


def _dominated(points: Matrix) -> Matrix:
    """Mark the points that another beats: nowhere worse, and better by more than rounding somewhere."""
    rounding = 1e-9 * np.ptp(points, axis=0)
    return np.array([((points <= point).all(1) & (points < point - rounding).any(1)).any() for point in points])


def front_in_box(problem: Problem) -> Verdict:
    """Measure how much of the front lies in the hypervolume's box."""
    points, bounds = problem.pareto_front(0), problem.hypervolume_bounds()
    if points is None or bounds is None:
        return Verdict(None, None, "no front or no box is stated")
    inside = float(((points >= bounds.ideal) & (points <= bounds.reference)).all(1).mean())
    return Verdict(inside == 1.0, inside, f"{inside:.1%} of the front lies in the hypervolume's box")
