"""An independent oracle for the solvers: 60-digit arithmetic, and no cleverness.

Every constrained problem is solved by trying each possible set of binding constraints, smallest
first, until the optimality conditions hold; these are convex problems, so that the conditions prove
the answer. The bargaining problem is solved by Newton's method until its steps are below 1e-40. No
code is shared with the solvers under test, and a float64 Gram matrix is taken as exact. Where a
problem is restated as in the solvers (CAGrad's worst improvement t), cvxpy checks the restatement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal, localcontext
from itertools import combinations

import numpy as np
import numpy.typing as npt

Number = Decimal
Numbers = list[Decimal]
Square = list[list[Decimal]]

DIGITS = 60
"""Working precision; a condition number of 10^m costs about m of them."""
TOLERANCE = Decimal(10) ** -38
"""Slack in sign tests, relative to the data: far above rounding, far below float64."""

SINGULAR = Decimal(10) ** -30
"""A pivot of a matrix with unit diagonal below this is zero but for rounding."""


def exact(values: npt.NDArray[np.float64]) -> Square:
    """Return a float64 matrix without rounding."""
    return [[Decimal(value) for value in row] for row in values.tolist()]


def dot(left: Sequence[Number], right: Sequence[Number]) -> Number:
    return sum((a * b for a, b in zip(left, right, strict=True)), Decimal(0))


def times(matrix: Square, vector: Sequence[Number]) -> Numbers:
    return [dot(row, vector) for row in matrix]


def solve(matrix: Square, *sides: Sequence[Number]) -> list[Numbers] | None:
    """Return A⁻¹b for every right-hand side b, by elimination; None for a singular matrix."""
    size = len(matrix)
    rows = [[*row, *(side[i] for side in sides)] for i, row in enumerate(matrix)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        if abs(rows[i][i]) < SINGULAR:
            return None
        for k in range(i + 1, size):
            factor = rows[k][i] / rows[i][i]
            rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    solutions: list[Numbers] = []
    for column in range(size, size + len(sides)):
        x = [Decimal(0)] * size
        for i in reversed(range(size)):
            x[i] = (rows[i][column] - dot(rows[i][i + 1 : size], x[i + 1 :])) / rows[i][i]
        solutions.append(x)
    return solutions


def subsets(size: int, smallest: int) -> Iterator[tuple[int, ...]]:
    for count in range(smallest, size + 1):
        yield from combinations(range(size), count)


def unit(gram: Square) -> tuple[Square, Numbers]:
    """Return the Gram matrix of the unit vectors, and the lengths."""
    norms = [row[i].sqrt() for i, row in enumerate(gram)]
    return [
        [value / a / b for value, b in zip(row, norms, strict=True)] for row, a in zip(gram, norms, strict=True)
    ], norms


def part(matrix: Square, chosen: Sequence[int]) -> Square:
    return [[matrix[i][j] for j in chosen] for i in chosen]


def optimal(matrix: Square, y: Numbers, bounds: Numbers) -> bool:
    """Say whether y ≥ 0 and C y ≥ b, to 38 digits of the largest bound."""
    allowed = -TOLERANCE * max(map(abs, bounds), default=Decimal(0))
    return min(y, default=Decimal(0)) >= allowed and all(
        a - b >= allowed for a, b in zip(times(matrix, y), bounds, strict=True)
    )


def spread(values: Sequence[Number], chosen: Sequence[int], size: int) -> Numbers:
    full = [Decimal(0)] * size
    for value, index in zip(values, chosen, strict=True):
        full[index] = value
    return full


def shortest(matrix: Square, bounds: Numbers, support: Sequence[int] | None = None) -> Numbers | None:
    """Return y of the shortest x = Σ y_i u_i with u_i·x ≥ b_i; None if there is no such x.

    An optimal y exists whose u_i with y_i > 0 are linearly independent (Carathéodory), so that
    singular subsets may be skipped. With a `support` it is the only subset that is tried: where there
    are too many of them, the optimality conditions still tell whether somebody's guess is the solution.
    """
    for chosen in subsets(len(bounds), 0) if support is None else [support]:
        solved = solve(part(matrix, chosen), [bounds[i] for i in chosen])
        if solved is not None:
            y = spread(solved[0], chosen, len(bounds))
            if optimal(matrix, y, bounds):
                return y
    return None


def project_primary(
    gram: npt.NDArray[np.float64], tau: Sequence[float], support: Sequence[int] | None = None
) -> Numbers | None:
    """Return (1, μ_2, …, μ_K), None where the constraints contradict each other."""
    with localcontext(prec=DIGITS):
        products = exact(gram)
        scaled, norms = unit([row[1:] for row in products[1:]])
        bounds = [
            Decimal(t) * norm - product / norm for t, norm, product in zip(tau, norms, products[0][1:], strict=True)
        ]
        y = shortest(scaled, bounds, support)
        return None if y is None else [Decimal(1), *(value / norm for value, norm in zip(y, norms, strict=True))]


def min_norm_point(gram: npt.NDArray[np.float64], support: Sequence[int] | None = None) -> Numbers | None:
    """Return α, None where 0 is in the hull."""
    with localcontext(prec=DIGITS):
        scaled, norms = unit(exact(gram))
        y = shortest(scaled, [min(norms) / norm for norm in norms], support)
        if y is None:
            return None
        weights = [value / norm for value, norm in zip(y, norms, strict=True)]
        return [weight / sum(weights) for weight in weights]


def conflict_averse(gram: npt.NDArray[np.float64], c: float, support: Sequence[int] | None = None) -> Numbers:
    """Return w. Where 0 is in the hull the worst improvement t is at most 0."""
    with localcontext(prec=DIGITS):
        products = exact(gram)
        size = len(products)
        scaled, norms = unit(products)
        mean = (sum((value for row in products for value in row), Decimal(0)) / size**2).sqrt()
        cosines = [sum(row, Decimal(0)) / size / norm / mean for row, norm in zip(products, norms, strict=True)]
        slopes = [min(norms) / norm for norm in norms]
        radius = Decimal(c)
        for chosen in subsets(size, 1) if support is None else [support]:
            a, h = [slopes[i] for i in chosen], [cosines[i] for i in chosen]
            solved = solve(part(scaled, chosen), a, h)
            if solved is None:
                continue
            rise, start = solved
            quadratic, linear, constant = dot(a, rise), dot(h, rise), dot(h, start) - radius * radius
            discriminant = linear * linear - quadratic * constant
            if discriminant < 0:
                continue
            t = (linear + discriminant.sqrt()) / quadratic
            y = spread([t * u - v for u, v in zip(rise, start, strict=True)], chosen, size)
            if optimal(scaled, y, [t * u - v for u, v in zip(slopes, cosines, strict=True)]):
                return [1 / Decimal(size) + mean * value / norm for value, norm in zip(y, norms, strict=True)]
        nearest = shortest(scaled, [-cosine for cosine in cosines], support)
        if nearest is None:
            raise AssertionError("no set of binding constraints is optimal")
        return [1 / Decimal(size) + mean * value / norm for value, norm in zip(nearest, norms, strict=True)]


def nash_bargain(gram: npt.NDArray[np.float64], powers: Sequence[float]) -> Numbers:
    with localcontext(prec=DIGITS):
        scaled, norms = unit(exact(gram))
        p = [Decimal(power) for power in powers]
        z = [Decimal(1)] * len(p)
        for _ in range(1000):
            matrix = [
                [value * a * b for value, b in zip(row, z, strict=True)] for row, a in zip(scaled, z, strict=True)
            ]
            residual = [power - sum(row, Decimal(0)) for power, row in zip(p, matrix, strict=True)]
            for i, power in enumerate(p):
                matrix[i][i] += power
            solved = solve(matrix, residual)
            if solved is None:
                break
            step = solved[0]
            damping = 1 / (1 + max(map(abs, step)))
            z = [value * (1 + damping * change) for value, change in zip(z, step, strict=True)]
            if max(map(abs, step)) < Decimal(10) ** -40:
                return [value / norm for value, norm in zip(z, norms, strict=True)]
        raise AssertionError("Newton's method did not converge")


def surgery(gram: npt.NDArray[np.float64], orders: Sequence[Sequence[int]]) -> Numbers:
    with localcontext(prec=DIGITS):
        products = exact(gram)
        total = [Decimal(0)] * len(products)
        for i, order in enumerate(orders):
            own = spread([Decimal(1)], [i], len(products))
            for j in order:
                product = dot(products[j], own)
                if product < 0:
                    own[j] -= product / products[j][j]
            total = [a + b for a, b in zip(total, own, strict=True)]
        return total


def direction_error(gram: npt.NDArray[np.float64], weights: Sequence[float], true: Numbers) -> float:
    """Return ‖Σ (w_i − w*_i) g_i‖ / ‖Σ w*_i g_i‖ from the Gram matrix, in 60 digits."""
    with localcontext(prec=DIGITS):
        products = exact(gram)
        error = [Decimal(weight) - value for weight, value in zip(weights, true, strict=True)]
        square = dot(error, times(products, error)) / dot(true, times(products, true))
        return float(max(square, Decimal(0)).sqrt())
