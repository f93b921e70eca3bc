"""Direction errors of the solvers, and of TorchJD's weightings, against the 60-digit oracle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext

import numpy as np
import numpy.typing as npt

from benchmarks.peers import torchjd_weightings
from mobench import solvers
from tests.solvers import reference
from tests.solvers.gradients import Sample, independent, nearly_dependent

Array = npt.NDArray[np.float64]
METHODS = ("PCD", "MGDA", "CAGrad", "Nash", "PCGrad")


@dataclass
class Accuracy:
    """What was seen of one method at one K; errors are ‖d − d*‖/‖d*‖."""

    method: str
    k: int
    cases: int = 0
    independent_error: float = 0.0
    """The largest error on independent gradients of lengths 1e-6 … 1e6."""
    dependent_error: float = 0.0
    """The largest error on nearly dependent gradients."""
    growth: float = 0.0
    """The largest error divided by the condition number of C, over both families."""
    peer_similar: float | None = None
    """TorchJD's median error where lengths are within a factor of ten, at the exact length."""
    peer_spread: float | None = None
    """The same for lengths of 1e-6 … 1e6."""


@dataclass(frozen=True)
class Knobs:
    """Random hyperparameters for one case."""

    tau: Array
    c: float
    powers: Array
    orders: list[list[int]]


def knobs(rng: np.random.Generator, k: int) -> Knobs:
    return Knobs(
        tau=rng.uniform(0.0, 1.0, k - 1),
        c=float(rng.uniform(0.1, 0.9)),
        powers=rng.dirichlet(np.full(k, 3.0)),
        orders=[rng.permutation([j for j in range(k) if j != i]).tolist() for i in range(k)],
    )


ROUNDING = 1e-14
ENUMERABLE = 8
"""Up to this K the oracle tries all active sets; beyond, it verifies the one that the solver found."""


def support_of(weights: Array, k: int, rounding: float = 0.0) -> list[int] | None:
    """Return which weights are positive, None where all active sets can be tried.

    Solvers return exact zeros, and a true weight may be tiny where lengths differ by 1e12. Only a
    difference of weights is known up to `rounding`.
    """
    if k <= ENUMERABLE:
        return None
    return np.flatnonzero(weights > rounding).tolist()


def errors(gram: Array, drawn: Knobs) -> Iterator[tuple[str, float]]:
    """Yield the direction error of every solver; an unsolved problem counts as infinitely wrong."""
    k = len(gram)
    projection = solvers.project_primary(gram, drawn.tau)
    bargain = solvers.nash_bargain(gram, drawn.powers)
    shortest, averse = solvers.min_norm_point(gram), solvers.conflict_averse(gram, drawn.c)
    found = {
        "PCD": [1.0, *projection.multipliers.tolist()] if projection.feasible else None,
        "MGDA": shortest.tolist(),
        "CAGrad": averse.tolist(),
        "Nash": bargain.alpha.tolist() if bargain.solved else None,
        "PCGrad": solvers.surgery(gram, drawn.orders).tolist(),
    }
    exact = {
        "PCD": reference.project_primary(gram, drawn.tau.tolist(), support_of(projection.multipliers, k)),
        "MGDA": reference.min_norm_point(gram, support_of(shortest, k)),
        "CAGrad": reference.conflict_averse(gram, drawn.c, support_of(averse - 1.0 / k, k, ROUNDING)),
        "Nash": reference.nash_bargain(gram, drawn.powers.tolist()),
        "PCGrad": reference.surgery(gram, drawn.orders),
    }
    for name in METHODS:
        weights, true = found[name], exact[name]
        if weights is None or true is None:
            yield name, float("inf")
        else:
            yield name, reference.direction_error(gram, weights, true)


def peer_errors(gram: Array) -> Iterator[tuple[str, float]]:
    """Yield the errors of TorchJD's weightings, at its τ = 0.02, c = 0.4 and equal powers."""
    k = len(gram)
    norms = np.sqrt(np.diagonal(gram))
    tau = 0.02 * norms[0] / norms[1:]
    exact = {
        "PCD": reference.project_primary(
            gram, tau.tolist(), support_of(solvers.project_primary(gram, tau).multipliers, k)
        ),
        "MGDA": reference.min_norm_point(gram, support_of(solvers.min_norm_point(gram), k)),
        "CAGrad": reference.conflict_averse(
            gram, 0.4, support_of(solvers.conflict_averse(gram, 0.4) - 1.0 / k, k, ROUNDING)
        ),
        "Nash": reference.nash_bargain(gram, [1.0] * k),
    }
    for name, weighting in torchjd_weightings.deterministic(k).items():
        true = exact[name]
        if true is not None:
            yield name, reference.direction_error(gram, at_length_of(gram, weighting(gram), true), true)


def at_length_of(gram: Array, weights: list[float], true: reference.Numbers) -> list[float]:
    """Return the weights of the same direction at the true length: peers differ in their scale."""
    with localcontext(prec=reference.DIGITS):
        products = reference.exact(gram)
        given = [Decimal(weight) for weight in weights]
        square = reference.dot(given, reference.times(products, given))
        if square <= 0:
            return weights
        factor = (reference.dot(true, reference.times(products, true)) / square).sqrt()
        return [float(factor * weight) for weight in given]


def measure(k: int, cases: int, peer_cases: int) -> list[Accuracy]:
    """Return the accuracy of every method for K objectives."""
    rng = np.random.default_rng(k)
    results = {name: Accuracy(name, k, cases) for name in METHODS}
    for family, largest in ((independent, "independent_error"), (nearly_dependent, "dependent_error")):
        for _ in range(cases):
            sample: Sample = family(rng, k)
            for name, error in errors(sample.gram, knobs(rng, k)):
                row = results[name]
                setattr(row, largest, max(getattr(row, largest), error))
                row.growth = max(row.growth, error / sample.condition)
    for decades, middle in ((0.5, "peer_similar"), (6.0, "peer_spread")):
        seen: dict[str, list[float]] = {}
        for _ in range(peer_cases):
            for name, error in peer_errors(independent(rng, k, decades).gram):
                seen.setdefault(name, []).append(error)
        for name, values in seen.items():
            setattr(results[name], middle, float(np.median(values)))
    return list(results.values())
