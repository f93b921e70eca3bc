"""The kernel of the solvers for many objectives: the shortest vector in an intersection of half-spaces.

For unit vectors u_i with Gram matrix C and bounds b,

    x = argmin ½‖x‖²   s.t.   u_i·x ≥ b_i,        x = Σ_i y_i u_i,

where the multipliers y solve the dual `min ½ yᵀCy − bᵀy` over y ≥ 0. The constraints contradict each
other exactly if some y ≥ 0 has Σ_i y_i u_i = 0 and bᵀy > 0 (Farkas); the dual is then unbounded.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from quadprog import solve_qp

from mobench.solvers import lapack
from mobench.solvers.scaling import RESOLUTION

if TYPE_CHECKING:
    from mobench.core.method import Matrix, Vector

QUADPROG_ZERO = 2.5e-15
"""quadprog takes smaller residuals and squared distances for zero, whatever the scale."""


class UnitVectors:
    """Unit vectors given by their Gram matrix C, ready for many bounds b.

    They are represented by the columns of a factor R, C = RᵀR. Where C is singular to float64 the
    factor is that of C + δI: among several optimal y this prefers the shortest, and bounds that
    contradict each other become consistent at a distance of about 1/√δ. Once the binding bounds
    are known, y is computed without δ.
    """

    def __init__(self, correlation: Matrix) -> None:
        self.matrix = correlation
        self.ridge = 0.0
        """The δ; 0 for linearly independent vectors."""
        self.identity, self.origin = _identity(len(correlation))
        self.factor, failed = lapack.dpotrf(correlation)
        self.smallest = 0.0 if failed else float(lapack.dpocon(self.factor, 1.0)[0])
        """An estimate of 1/‖C⁻¹‖, the smallest eigenvalue."""
        if self.smallest <= RESOLUTION:
            self._add_ridge()

    def _add_ridge(self) -> None:
        self.ridge = RESOLUTION
        while True:
            self.factor, failed = lapack.dpotrf(self.matrix + self.ridge * self.identity)
            if not failed and lapack.dpocon(self.factor, 1.0)[0] > QUADPROG_ZERO:
                return
            self.ridge *= 8.0  # C has larger errors than those of float64; a large δ always ends this

    def multipliers(self, bounds: Vector) -> Vector:
        """Return the multipliers y of the shortest x with u_i·x ≥ b_i, bounds that such an x satisfies."""
        y = self._regularised(bounds)
        if self.ridge and y.any():
            active = y.nonzero()[0]
            exact = self.solve(active, bounds[active])
            if exact.min() >= -1e-7 * exact.max():  # the same y but for δ, not one of another sign
                y[active] = np.maximum(exact, 0.0)
        return y

    def contradiction(self, wanted: Vector, resolution: float = RESOLUTION) -> Vector | None:
        """Return y ≥ 0 with Σ_i y_i u_i = 0 and a positive product with `wanted`, None if there is none.

        Such a y proves that no x has u_i·x ≥ b_i for the bounds b = `wanted`; if these are 0 and 1, none
        that has u_i·x > 0 where they are 1 and u_i·x ≥ 0 elsewhere. With the ridge, the optimum is
        `bᵀy = yᵀCy + δ‖y‖²`: where x exists it is ‖x‖², where not it is the ridge's share. A share of a
        tenth means that the distance from 0 to the hull of the wanted vectors is below 3√δ and lost in
        rounding; a coarser `resolution` stands for δ.
        """
        if (self.smallest > resolution and not self.ridge) or wanted.max() <= 0.0:
            return None
        y = self._regularised(wanted)
        return y if max(self.ridge, resolution) * y.dot(y) > 0.1 * wanted.dot(y) else None

    def solve(self, active: npt.NDArray[np.intp], sides: Matrix) -> Matrix:
        """Return the solution of C_P y = b, the shortest where the active vectors are dependent."""
        block = self.matrix[active[:, None], active]
        solution: Matrix
        if self.ridge:
            inverse = np.linalg.pinv(block, RESOLUTION, hermitian=True)
            solution = inverse.dot(sides)
            rest = sides - block.dot(solution)
            if np.abs(rest).max() > RESOLUTION * np.abs(sides).max():  # near dependence the inverse is inexact
                solution += inverse.dot(rest)
        else:
            _, solution, _ = lapack.dposv(block, sides)
        return solution

    def _regularised(self, bounds: Vector) -> Vector:
        """Return the multipliers for C + δI."""
        values = bounds.tolist()
        largest = max(values)
        if largest <= 0.0:
            return np.zeros(len(values))
        scale = max(largest, -min(values))
        y: Vector = solve_qp(self.identity, self.origin, self.factor, bounds / scale)[4]
        y *= scale
        return y


def shortest_of_two(bound_1: float, bound_2: float, cosine: float) -> tuple[float, float]:
    """Return the multipliers y of the shortest x with u_1·x ≥ b_1 and u_2·x ≥ b_2, which such an x satisfies.

    (0, 0) if b ≤ 0, (b_1, 0) if c b_1 ≥ b_2, (0, b_2) if c b_2 ≥ b_1, otherwise (b_1 − c b_2, b_2 − c b_1)/(1 − c²).
    """
    if bound_1 <= 0.0 and bound_2 <= 0.0:
        return 0.0, 0.0
    squared_sine = (1.0 - cosine) * (1.0 + cosine)
    if squared_sine <= RESOLUTION:
        return (bound_1, 0.0) if bound_1 >= bound_2 else (0.0, bound_2)
    if bound_1 > 0.0 and cosine * bound_1 >= bound_2:
        return bound_1, 0.0
    if bound_2 > 0.0 and cosine * bound_2 >= bound_1:
        return 0.0, bound_2
    # back-substitution, not Cramer's rule twice: then the errors of y_1 and y_2 cancel in x
    y_2 = (bound_2 - cosine * bound_1) / squared_sine
    return max(bound_1 - cosine * y_2, 0.0), y_2


@cache
def _identity(size: int) -> tuple[Matrix, Vector]:
    """Return the Hessian and the centre of ½‖x‖²."""
    return np.eye(size), np.zeros(size)
