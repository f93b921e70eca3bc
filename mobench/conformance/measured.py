"""What describes a method without judging it: what it reads, its symmetry, scale and descent."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial

import numpy as np

from mobench.conformance.finding import Check, Verdict
from mobench.conformance.scenes import Precision, Scene, Watcher, advance, trajectory, update
from mobench.conformance.subject import Subject
from mobench.core.method import Vector
from mobench.gradients.gram import ROUNDED_ROWS
from mobench.solvers.scaling import correlation

SAME: dict[Precision, float] = {np.float64: 1e-9, np.float32: ROUNDED_ROWS**0.5}
"""Directions (of length one) that differ by less count as equal, whatever the input."""

NEARLY = 1e-3
"""A distance up to which a property that does not hold is said to hold nearly: some 0.06 degrees."""

DRAWS = 500
"""How often a random method is asked when only the distribution of its answers can be compared."""


def reads(subject: Subject) -> Verdict:
    """Report what the method reads, which decides what a step costs."""
    k = subject.typical
    method = subject.started(k)
    read: set[str] = set()
    for iteration, scene in enumerate(subject.scenes(k, 4 * k, 3)):
        watcher = Watcher(scene)
        advance(method, scene, iteration, watcher)
        read |= watcher.read
    free = not read & {"gram", "gradients"}
    cost = "one backward pass of the weighted loss" if free else "every objective's gradient"
    after = ", and the losses once more after it" if method.overrides("observe") else ""
    what = ", ".join(sorted(read)) or "nothing"
    return Verdict(free, what, f"reads {what}; a step costs {cost}{after}")


def _invariance(subject: Subject, changes: Iterable[Callable[[Scene], Scene]], when: str) -> Verdict:
    """Measure how far the update's direction moves, up to 2, when scenes are changed in one of these ways.

    What rounding explains is not held against a method: a linear system with the Gram matrix, of condition
    κ, is solved to about ε κ, and a change of scale by 1e3 costs κ six digits. Gradients in single precision
    are rounded relative to their own lengths, so that κ is that of the unit gradients for their ε.
    """
    k = subject.typical
    scenes = subject.scenes(k, 4 * k, 5)
    before = trajectory(subject.started(k), scenes)
    holds, moved, rounding = True, 0.0, SAME[subject.precision]
    for change in changes:
        changed = [change(scene) for scene in scenes]
        after = trajectory(subject.started(k), changed)
        for old, new, update_before, update_after in zip(scenes, changed, before, after, strict=True):
            allowed = max(SAME[subject.precision], _rounding(old), _rounding(new))
            distance = float(np.linalg.norm(_unit(update_before) - _unit(update_after)))
            holds, moved, rounding = holds and distance <= allowed, max(moved, distance), max(rounding, allowed)
    nearly = not holds and moved <= NEARLY
    words = "does not change" if holds else "hardly changes" if nearly else "changes"
    sentence = f"the direction {words} {when} (by {moved:.2g}; rounding explains {rounding:.2g})"
    return Verdict(holds, moved, sentence, nearly=nearly)


def _rounding(scene: Scene) -> float:
    """Return ε κ of the Gram matrix, or what the rounding of the gradients adds."""
    rows = scene.gradients.astype(np.float64)
    solved = float(np.finfo(np.float64).eps * np.linalg.cond(rows @ rows.T))
    rounded = float(np.finfo(scene.gradients.dtype).eps * np.linalg.cond(correlation(rows @ rows.T)[0]))
    return max(solved, rounded)


def _unit(vector: Vector) -> Vector:
    length = np.linalg.norm(vector)
    return vector / length if length > 0.0 else vector


def _symmetry(subject: Subject, orders: Sequence[Sequence[int]], which: str) -> Verdict:
    if subject.is_random:
        return _symmetry_in_distribution(subject, orders, which)
    changes = [partial(Scene.permuted, order=order) for order in orders]
    return _invariance(subject, changes, f"when {which} are put in another order")


def _symmetry_in_distribution(subject: Subject, orders: Sequence[Sequence[int]], which: str) -> Verdict:
    """Compare the means over many seeds, in units of their standard error."""
    (scene,) = subject.scenes(subject.typical, subject.typical, 1)
    mean, variance = _moments(subject, scene, 0)
    worst = 0.0
    for order in orders:
        other, spread = _moments(subject, scene.permuted(order), DRAWS)
        rounding = max(1e-12, 4.0 * float(np.finfo(subject.precision).eps)) * float(np.abs(scene.gradients).max())
        worst = max(worst, float((np.abs(mean - other) / np.sqrt((variance + spread) / DRAWS + rounding**2)).max()))
    words = "does not change" if worst < 5.0 else "changes"
    sentence = (
        f"the mean over {DRAWS} draws {words} when {which} are put in another order ({worst:.1f} standard errors)"
    )
    return Verdict(worst < 5.0, worst, sentence)


def _moments(subject: Subject, scene: Scene, first_seed: int) -> tuple[Vector, Vector]:
    draws = [update(subject.started(scene.k, first_seed + draw), scene) for draw in range(DRAWS)]
    return np.mean(draws, axis=0), np.var(draws, axis=0)


def symmetric(subject: Subject) -> Verdict:
    """Measure whether all objectives, the primary too, may be put in any order."""
    k = subject.typical
    return _symmetry(subject, [range(k)[::-1], [*range(1, k), 0]], "all objectives")


def symmetric_secondaries(subject: Subject) -> Verdict:
    """Measure whether the secondaries may be put in any order."""
    if subject.typical < 3:
        return Verdict(True, 0.0, "there is only one secondary")
    rest = list(range(1, subject.typical))
    return _symmetry(subject, [[0, *rest[::-1]], [0, *rest[1:], rest[0]]], "the secondaries")


def scale_invariant(subject: Subject) -> Verdict:
    """Measure how far the direction moves when one objective is multiplied by 1e-3 or 1e3."""
    k = subject.typical
    factors = [np.where(np.arange(k) == i, factor, 1.0) for i in range(k) for factor in (1e-3, 1e3)]
    changes = [partial(Scene.rescaled, factors=each) for each in factors]
    return _invariance(subject, changes, "when one objective is multiplied by 1e-3 or 1e3")


def homogeneous(subject: Subject) -> Verdict:
    """Measure the power of c by which the update's length grows when every objective is multiplied by c."""
    k = subject.typical
    scenes = subject.scenes(k, 4 * k, 5)
    before = trajectory(subject.started(k), scenes)[-1]
    after = trajectory(subject.started(k), [scene.rescaled(np.full(k, 10.0)) for scene in scenes])[-1]
    lengths = float(np.linalg.norm(before)), float(np.linalg.norm(after))
    if min(lengths) == 0.0:
        return Verdict(None, None, "the update is zero")
    degree = math.log10(lengths[1] / lengths[0])
    holds = abs(degree - 1.0) < max(1e-6, SAME[subject.precision])
    return Verdict(holds, degree, f"objectives times c give a length times c^{degree:.2f}")


def length(subject: Subject) -> Verdict:
    """Measure the update's length on orthonormal gradients: what one learning rate means."""
    k = subject.typical
    value = float(np.linalg.norm(update(subject.started(k), Scene.of(np.eye(k)))))
    return Verdict(None, value, f"on {k} orthonormal gradients the update has length {value:.4g}")


@lru_cache(maxsize=1)
def _cosines(subject: Subject) -> list[Vector]:
    """Return the cosines of the update with every gradient, in random scenes; three checks look at them."""
    found = []
    for k in subject.several:
        for n in (k, 4 * k):
            for scene in subject.scenes(k, n, 100):
                direction = _unit(update(subject.started(k), scene))
                found.append(scene.gradients @ direction / np.linalg.norm(scene.gradients, axis=1))
    return found


def _descent(subject: Subject, which: slice, words: str) -> Verdict:
    """Count the random scenes in which none of the given objectives ascends."""
    lowest = [float(cosines[which].min()) for cosines in _cosines(subject)]
    smallest, total = min(lowest, default=1.0), len(lowest)
    kept = sum(cosine >= -SAME[subject.precision] for cosine in lowest)
    share = kept / total
    return Verdict(
        kept == total, share, f"{words} in {share:.1%} of {total} random cases (smallest cosine {smallest:.2g})"
    )


def descends(subject: Subject) -> Verdict:
    """Measure how often no objective ascends."""
    return _descent(subject, slice(None), "no objective ascends")


def descends_primary(subject: Subject) -> Verdict:
    """Measure how often the primary does not ascend."""
    return _descent(subject, slice(0, 1), "the primary does not ascend")


def descends_secondaries(subject: Subject) -> Verdict:
    """Measure how often no secondary ascends."""
    return _descent(subject, slice(1, None), "no secondary ascends")


def _motion(subject: Subject, gradients: Vector, where: str) -> Verdict:
    if subject.precision is np.float32:  # in another basis, in which rounding does not cancel
        normal = np.arange(1.0, gradients.shape[1] + 1.0)
        gradients = gradients - np.outer(gradients @ normal, 2.0 / (normal @ normal) * normal)
    scene = Scene.of(gradients).rounded(subject.precision)
    moved = float(np.linalg.norm(update(subject.started(len(gradients)), scene)))
    relative = moved / float(np.linalg.norm(gradients, axis=1).max())
    stops = relative <= SAME[subject.precision]
    words = "stops" if stops else f"moves on (by {relative:.2g} of the longest gradient)"
    return Verdict(stops, relative, f"{words} {where}", nearly=not stops and relative <= NEARLY)


def _simplex(k: int) -> Vector:
    """Return k unit vectors that sum to zero, any k−1 of them independent."""
    centred = np.eye(k) - 1.0 / k
    return np.asarray(centred / np.linalg.norm(centred, axis=1, keepdims=True))


def stops_balanced(subject: Subject) -> Verdict:
    """Measure whether it stops where gradients of equal length cancel in sum."""
    return _motion(subject, _simplex(subject.typical), "where the gradients sum to zero")


def stops_unbalanced(subject: Subject) -> Verdict:
    """Measure whether it stops where gradients of unequal lengths have zero in their convex hull."""
    k = subject.typical
    return _motion(subject, _simplex(k) * np.arange(1.0, k + 1.0)[:, None], "where zero is in the convex hull")


def stops_primary(subject: Subject) -> Verdict:
    """Measure whether it stops where the primary alone is stationary."""
    k = subject.typical
    gradients = np.eye(k)
    gradients[0] = 0.0
    return _motion(subject, gradients, "where only the primary gradient is zero")


MEASURED: dict[str, Check[Subject]] = {
    "reads only losses": reads,
    "symmetric in all objectives": symmetric,
    "symmetric in the secondaries": symmetric_secondaries,
    "scale-invariant direction": scale_invariant,
    "length follows the gradients": homogeneous,
    "length on orthonormal gradients": length,
    "no objective ascends": descends,
    "the primary does not ascend": descends_primary,
    "no secondary ascends": descends_secondaries,
    "stops where gradients cancel": stops_balanced,
    "stops where zero is in the hull": stops_unbalanced,
    "stops at a stationary primary": stops_primary,
}
