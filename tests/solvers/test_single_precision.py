"""Every method on gradients in float32, bfloat16 and float16, against a 60-digit oracle on the same numbers.

The gradients are taken as they are, rounded; the truth is computed from their exact products. Whether
constraints contradict each other, or a bargain exists, depends on ρ, the distance from 0 to the hull of the
unit vectors, in units of what the type resolves (`Step.resolution`). For ρ between `DEPENDENT` and `INDEPENDENT`
either answer is accepted; elsewhere none but the right one, and no length may be off by more than 1e-3. At τ = 0,
PCD's direction likewise counts as zero below `DEPENDENT` times its terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from mobench.core.method import Step, checked_weights
from mobench.gradients.gradient_rows import GradientRows
from mobench.methods.pcgrad import random_orders
from mobench.solvers import conflict_averse, min_norm_point, project_primary
from tests.methods.method_steps import started
from tests.solvers import reference

DEPENDENT, INDEPENDENT = 0.31, 3.2
"""The band in which either answer is accepted, in units of what the type resolves."""
RESOLVED = {torch.float32: 2.0**-18, torch.float16: 2.0**-9, torch.bfloat16: 2.0**-6}
FLOOR = 1.2e-5
"""Lengths below this share of the gradients' are lost in the sum itself where rows of float32 cancel."""
ACCURACY = 1e-3
TAU, RADIUS, POWER = 0.1, 0.4, 0.5

Array = npt.NDArray[np.float64]
Rows = Callable[[np.random.Generator, int, int], Array]


def independent(rng: np.random.Generator, k: int, n: int) -> Array:
    return rng.standard_normal((k, n))


def spread(rng: np.random.Generator, k: int, n: int) -> Array:
    """Return gradients of lengths over twelve decades."""
    return independent(rng, k, n) * 10.0 ** rng.uniform(-6.0, 6.0, (k, 1))


def dependent(rng: np.random.Generator, k: int, n: int) -> Array:
    """Return gradients of which the last is a combination of the others, of either sign."""
    rows = independent(rng, k, n)
    rows[-1] = rng.standard_normal(k - 1) @ rows[:-1]
    return rows


def opposite(rng: np.random.Generator, k: int, n: int) -> Array:
    """Return gradients of which the last is opposite to one of the others: to the primary, or infeasible."""
    rows = independent(rng, k, n)
    rows[-1] = -rng.choice((0.5, 1.3)) * rows[rng.integers(k - 1)]
    return rows


def nearly_opposite(rng: np.random.Generator, k: int, n: int) -> Array:
    """Return gradients of which the last is opposite to one of the others up to an angle of 0.1 to 1e-8."""
    rows = opposite(rng, k, n)
    rows[-1] += 10.0 ** rng.uniform(-8.0, -1.0) * rng.standard_normal(n)
    return rows


def infeasible(rng: np.random.Generator, k: int, n: int) -> Array:
    """Return gradients whose secondaries have 0 in their hull."""
    rows = independent(rng, k, n)
    rows[-1] = -rng.uniform(0.2, 1.0, k - 2) @ rows[1:-1] if k > 2 else -rows[0]
    return rows


def nearly_infeasible(rng: np.random.Generator, k: int, n: int) -> Array:
    rows = infeasible(rng, k, n)
    rows[-1] += 10.0 ** rng.uniform(-8.0, -1.0) * rng.standard_normal(n)
    return rows


def nearly_parallel(rng: np.random.Generator, k: int, n: int) -> Array:
    """Return secondaries in a narrow cone, opposite to the primary or not."""
    rows = rng.standard_normal(n) + 10.0 ** rng.uniform(-6.0, -1.0) * independent(rng, k, n)
    rows[0] *= rng.choice((-1.0, 1.0))
    return rows


def constant(rng: np.random.Generator, k: int, n: int) -> Array:
    """Return gradients of one magnitude each, as of an ℓ1 penalty, whose long sums are rounded one way."""
    return rng.choice((-1.0, 1.0), (k, n)) * rng.uniform(0.5, 1.0, (k, 1))


FAMILIES: list[Rows] = [
    independent,
    spread,
    dependent,
    opposite,
    nearly_opposite,
    infeasible,
    nearly_infeasible,
    nearly_parallel,
    constant,
]


@dataclass(frozen=True)
class Case:
    """Rounded gradients, and their exact products as decimals."""

    rows: torch.Tensor
    gram: npt.NDArray[Any]

    @classmethod
    def of(cls, rows: torch.Tensor) -> Case:
        wide = rows.double().numpy().astype(np.longdouble)
        products = wide @ wide.T
        high = products.astype(np.float64)
        low = (products - high).astype(np.float64)
        decimals = np.vectorize(Decimal, otypes=[object])
        return cls(rows, decimals(high) + decimals(low))

    @property
    def resolved(self) -> float:
        return RESOLVED[self.rows.dtype]

    @property
    def k(self) -> int:
        return len(self.rows)

    @cached_property
    def rough(self) -> Array:
        """The products in float64, to guess which constraints bind."""
        return self.gram.astype(np.float64)

    @cached_property
    def norms(self) -> Array:
        return np.sqrt(self.rough.diagonal())

    @cached_property
    def hull(self) -> float:
        """The distance from 0 to the hull of the unit vectors; NaN if the guess is wrong."""
        unit = self.rough / self.norms / self.norms[:, None]
        guess = min_norm_point(unit)
        with localcontext(prec=reference.DIGITS):
            scaled, _ = reference.unit(reference.exact(self.gram))
            y = reference.shortest(scaled, [Decimal(1)] * self.k, self.support(guess))
            if y is not None:
                return float(1 / sum(y, Decimal(0)).sqrt())
        return 0.0 if guess @ unit @ guess < 1e-13 else np.nan

    @cached_property
    def secondary_hull(self) -> float:
        return Case(self.rows[1:], self.gram[1:, 1:]).hull

    def support(self, guess: Array) -> list[int] | None:
        """Return where a float64 guess is positive, or None, for all subsets, if there are few."""
        return None if self.k <= 6 else np.flatnonzero(guess > 0.0).tolist()

    def length(self, weights: Sequence[float | Decimal]) -> float:
        """Return ‖Σ w_i g_i‖."""
        with localcontext(prec=reference.DIGITS):
            exact = [Decimal(weight) for weight in weights]
            square = reference.dot(exact, reference.times(self.gram.tolist(), exact))
            return float(max(square, Decimal(0)).sqrt())

    def update(self, name: str, **settings: Any) -> tuple[list[float], float, dict[str, Any]]:
        """Return the weights, the length of `.grad`, and the notes of a first step, through the engine."""
        parameter = torch.zeros(self.rows.shape[1], dtype=self.rows.dtype, requires_grad=True)
        source = GradientRows([parameter])
        source.load_gradients(self.rows, values=np.ones(self.k))
        step = Step(np.ones(self.k), source)
        weights = checked_weights(started(name, self.k, **settings), step)
        source.apply(weights)
        assert parameter.grad is not None
        return weights.tolist(), float(parameter.grad.double().norm()), step.notes

    def wrong_length(self, true: float, name: str, floor: float = 0.0, **settings: Any) -> Iterator[str]:
        weights, applied, _ = self.update(name, **settings)
        lengths = [self.length(weights)] + [applied] * (self.rows.dtype == torch.float32)
        if max(abs(found - true) for found in lengths) > ACCURACY * true + floor:
            yield f"{name} {settings}: lengths {lengths}, true {true}"


def wrong_flag(flag: bool, distance: float) -> bool:
    """Say whether `flag`, which tells that 0 is in the hull, is wrong at that distance in units of what is resolved."""
    return (distance > INDEPENDENT and flag) or (distance < DEPENDENT and not flag)


def pcd(case: Case) -> Iterator[str]:
    infeasible = case.update("pcd", tau=TAU)[2]["infeasible"]
    distance = case.secondary_hull / case.resolved
    if wrong_flag(infeasible, distance):
        yield f"pcd: infeasible is {infeasible} at {distance}"
    if not DEPENDENT < distance < INDEPENDENT:
        yield from case.wrong_length(case.norms[0], "pcd", tau=TAU)
    if distance > INDEPENDENT:
        true = projected(case, TAU)
        if true is not None:
            yield from case.wrong_length(case.length(true), "pcd", tau=TAU, normalization="none", rescale="none")
        true = projected(case, 0.0)
        if true is not None:
            left = case.length(true) / np.linalg.norm(case.norms * [float(weight) for weight in true]) / case.resolved
            if not DEPENDENT < left < INDEPENDENT:
                yield from case.wrong_length(case.norms[0] if left > INDEPENDENT else 0.0, "pcd", tau=0.0)


def projected(case: Case, tau: float) -> list[Decimal] | None:
    guess = project_primary(case.rough, tau).multipliers
    return reference.project_primary(case.gram, [tau] * (case.k - 1), case.support(guess))


def mgda(case: Case) -> Iterator[str]:
    true = reference.min_norm_point(case.gram, case.support(min_norm_point(case.rough)))
    if true is not None or case.hull < 0.1 * FLOOR:
        floor = 0.0 if case.hull > FLOOR else FLOOR * case.norms.min()
        yield from case.wrong_length(0.0 if true is None else case.length(true), "mgda", floor)


def cagrad(case: Case) -> Iterator[str]:
    if case.hull > INDEPENDENT * case.resolved:  # otherwise the best direction need not be unique
        guess = conflict_averse(case.rough, RADIUS) - 1.0 / case.k
        true = reference.conflict_averse(case.gram, RADIUS, case.support(guess))
        yield from case.wrong_length(case.length(true), "cagrad", c=RADIUS)


def auxinash(case: Case) -> Iterator[str]:
    weights, _, notes = case.update("auxinash", p=POWER)
    if wrong_flag(notes["unsolved"], case.hull / case.resolved):
        yield f"auxinash: unsolved is {notes['unsolved']} at {case.hull}"
    elif not notes["unsolved"]:
        yield from case.wrong_length(1.0, "auxinash", p=POWER)
        with localcontext(prec=reference.DIGITS):
            alpha = [Decimal(weight) for weight in weights]
            shares = [float(a * b) for a, b in zip(alpha, reference.times(case.gram.tolist(), alpha), strict=True)]
        powers = [POWER] + [(1.0 - POWER) / (case.k - 1)] * (case.k - 1)
        if not np.allclose(shares, powers, rtol=ACCURACY, atol=0.0):
            yield f"auxinash: shares {shares}"


def pcgrad(case: Case) -> Iterator[str]:
    orders = random_orders([started("pcgrad", case.k).rng], case.k)[0]
    true = case.length(reference.surgery(case.gram, orders))
    yield from case.wrong_length(true, "pcgrad", FLOOR * case.norms.max())


def mistakes(case: Case) -> list[str]:
    return [mistake for method in (pcd, mgda, cagrad, auxinash, pcgrad) for mistake in method(case)]


def cases(k: int, n: int, dtype: torch.dtype, seeds: Sequence[int]) -> Iterator[tuple[str, Case]]:
    for family in FAMILIES:
        for seed in seeds:
            rows = family(np.random.default_rng([seed, k, n]), k, n)
            rows *= min(1.0, torch.finfo(dtype).max / np.abs(rows).max())  # of float16, the longest would not fit
            yield f"{family.__name__} {seed}", Case.of(torch.from_numpy(rows).to(dtype))


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Keep torch's threads from waiting for each other on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


SIZES = [
    *((k, n, 5) for k in (2, 3) for n in (3, 1000)),
    *((4, n, 3) for n in (3, 50)),
    *zip(range(2, 17), (3, 10, 30, 100, 300, 1000, 3000, 10_000) * 2, [1] * 15, strict=False),
    *((k, 100_000, 1) for k in (2, 5)),
]
"""Numbers of objectives, parameters and seeds."""
TYPES = [
    (torch.float32, SIZES),
    (torch.bfloat16, SIZES),
    (torch.float16, [(2, 3, 3), (3, 3, 3), (3, 1000, 2), (4, 50, 1), (16, 300, 1)]),
]


@pytest.mark.parametrize(
    ("dtype", "k", "n", "seeds"), [(dtype, *size) for dtype, sizes in TYPES for size in sizes], ids=str
)
def test_no_wrong_flag_and_no_wrong_length(dtype: torch.dtype, k: int, n: int, seeds: int) -> None:
    found = {name: mistakes(case) for name, case in cases(k, n, dtype, range(seeds))}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    ("family", "k", "dtype"),
    [
        (independent, 3, torch.float32),
        (infeasible, 3, torch.float32),
        (nearly_opposite, 2, torch.float32),
        (constant, 16, torch.float32),
        (opposite, 2, torch.bfloat16),
        (infeasible, 16, torch.bfloat16),
    ],
)
def test_a_million_parameters(family: Rows, k: int, dtype: torch.dtype) -> None:
    rows = family(np.random.default_rng(0), k, 1_000_000)
    assert mistakes(Case.of(torch.from_numpy(rows).to(dtype))) == []
