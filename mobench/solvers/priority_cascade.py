"""PCD's program with several levels of priority, and what is given up where demands contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from mobench.solvers.half_spaces import UnitVectors
from mobench.solvers.scaling import RESOLUTION, correlation, refuse_non_finite

if TYPE_CHECKING:
    from mobench.core.method import Matrix, Vector

ROUNDING = 1e-12
"""Progress that is this close to what is demanded, relative to both, is what is demanded."""

Relaxation = Literal["primary", "no-ascent", "back-off"]
Indices = npt.NDArray[np.intp]


class Cascade(NamedTuple):
    """The multipliers of a cascade, the tolerances that it kept, and whether it kept all."""

    multipliers: Vector
    """μ_j ≥ 0 for every secondary j: the direction is d = g_1 + Σ_j μ_j g_j."""
    tau: Vector
    """The τ_j that were kept: those asked for, and 0 where a demand was given up."""
    kept: bool
    """Whether every demand was kept."""


def project_in_levels(
    gram: Matrix,
    tau: Sequence[float] | Vector,
    levels: Sequence[float],
    relaxation: Relaxation,
    resolution: float = RESOLUTION,
) -> Cascade:
    """Project the primary gradient on the demands of one level after the other, none of which takes from those before.

    With d⁰ = g_1 and the levels in rising order,

        dˡ = argmin ½‖d − dˡ⁻¹‖²   s.t.   g_j·d ≥ τ_j ‖g_j‖²   for j of level l,
                                          g_i·d ≥ g_i·dˡ⁻¹     for i of a level before l,

    and the result is the last dˡ. One level is `project_primary`. The higher levels' own demands can always be kept;
    those of level l contradict them, or each other, exactly if some y ≥ 0 on both has Σ y g = 0 and a positive sum of
    y_j (τ_j ‖g_j‖² − g_j·dˡ⁻¹) over level l. `relaxation` says what is given up then:

    - primary:    all demands of the level: dˡ = dˡ⁻¹;
    - no-ascent:  all τ_j of the level become 0;
    - back-off:   only the τ_j with y_j > 0 for some such y, those that contradict something, become 0. Within one
                  level this is the least that can be given up if no secondary is to ascend: Σ y_j g_j·d = 0 with all
                  terms ≥ 0 makes every g_j·d = 0 on such a y, and without these demands nothing is contradicted.

    In a lower level, `back-off` keeps a demand that dˡ⁻¹ meets already. Where the higher levels do not let g_j·d ≥ 0
    either, the demand becomes g_j·d ≥ g_j·dˡ⁻¹: no worse than it was.
    """
    refuse_non_finite(gram)
    if len(gram) == 1:
        return Cascade(np.zeros(0), np.zeros(0), True)
    scaled, norms = correlation(gram[1:, 1:])
    divisors = np.where(norms > 0.0, norms, 1.0)
    progress = np.where(norms > 0.0, gram[0, 1:] / divisors, 0.0)
    demands = np.asarray(tau, dtype=np.float64) * norms
    total, kept, order = np.zeros(len(norms)), np.asarray(tau, dtype=np.float64).copy(), np.asarray(levels)
    for level in sorted(set(levels)):
        higher, members = (order < level).nonzero()[0], ((order == level) & (norms > 0.0)).nonzero()[0]
        if not len(members):  # zero gradients demand nothing
            continue
        chosen: Indices = np.concatenate([higher, members])
        vectors = UnitVectors(scaled[chosen[:, None], chosen])
        bounds, given_up = _bounds(vectors, len(higher), demands[members], progress[members], relaxation, resolution)
        kept[members[given_up]] = 0.0
        if bounds.max(initial=0.0) > 0.0:
            added = vectors.multipliers(bounds)
            total[chosen] += added
            progress = progress + scaled[:, chosen] @ added
    return Cascade(total / divisors, kept, bool((kept == np.asarray(tau)).all()))


def _bounds(
    vectors: UnitVectors, higher: int, demands: Vector, progress: Vector, relaxation: Relaxation, resolution: float
) -> tuple[Vector, npt.NDArray[np.bool_]]:
    """Return bounds b that some x = d − dˡ⁻¹ satisfies, u·x ≥ b, and whose demands were given up for that.

    A demand is given up in two stages: to 0, then to what there is.
    """
    stages = np.zeros(len(demands), dtype=np.intp)
    while True:
        limits = np.choose(stages, [demands, np.zeros(len(demands)), np.minimum(progress, 0.0)])
        missing = limits - progress
        missing[np.abs(missing) <= ROUNDING * (np.abs(limits) + np.abs(progress))] = 0.0
        bounds = np.concatenate([np.zeros(higher), missing])
        # without higher levels no y sees the progress, Σ y_j u_j·d = 0, and only the demands' signs count
        wanted = bounds if higher else np.sign(np.maximum(limits, 0.0))
        y = vectors.contradiction(wanted, resolution) if bounds.max(initial=0.0) > 0.0 else None
        if y is None:
            return bounds, stages > 0
        blamed = (y[higher:] > np.sqrt(max(vectors.ridge, resolution)) * y.max()) & (wanted[higher:] > 0.0)
        if relaxation != "back-off" or not blamed.any():
            blamed = np.ones(len(demands), dtype=bool)
        stages[blamed] = 2 if relaxation == "primary" else np.minimum(stages[blamed] + 1, 2)
