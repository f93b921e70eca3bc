"""The solvers against a 60-digit oracle, and the oracle against cvxpy."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mobench.solvers import conflict_averse, min_norm_point, nash_bargain, project_primary, surgery
from tests.solvers import reference
from tests.solvers.gradients import Sample, independent, nearly_dependent

cp: Any = importlib.import_module("cvxpy")  # its own types reject ordinary expressions

CASES = 25
GROWTH = 1e-15
"""The largest direction error per unit of condition number."""


def direction_errors(sample: Sample, rng: np.random.Generator) -> dict[str, float]:
    gram, k = sample.gram, len(sample.gram)
    tau, c, powers = rng.uniform(0.0, 1.0, k - 1), float(rng.uniform(0.1, 0.9)), rng.dirichlet(np.full(k, 3.0))
    orders = [rng.permutation([j for j in range(k) if j != i]).tolist() for i in range(k)]
    projection, bargain = project_primary(gram, tau), nash_bargain(gram, powers)
    assert projection.feasible
    assert bargain.solved
    answers = {
        "pcd": ([1.0, *projection.multipliers.tolist()], reference.project_primary(gram, tau.tolist())),
        "mgda": (min_norm_point(gram).tolist(), reference.min_norm_point(gram)),
        "cagrad": (conflict_averse(gram, c).tolist(), reference.conflict_averse(gram, c)),
        "nash": (bargain.alpha.tolist(), reference.nash_bargain(gram, powers.tolist())),
        "pcgrad": (surgery(gram, orders).tolist(), reference.surgery(gram, orders)),
    }
    errors = {}
    for name, (weights, true) in answers.items():
        assert true is not None
        errors[name] = reference.direction_error(gram, weights, true)
    return errors


@pytest.mark.parametrize("k", [2, 3, 5, 8])
@pytest.mark.parametrize("family", [independent, nearly_dependent])
def test_direction_error_is_bounded_by_the_condition_number(
    k: int, family: Callable[[np.random.Generator, int], Sample]
) -> None:
    rng = np.random.default_rng(k)
    for _ in range(CASES):
        sample = family(rng, k)
        for name, error in direction_errors(sample, rng).items():
            assert error <= GROWTH * sample.condition, (name, error, sample.condition)


def optimum(objective: Any, constraints: list[Any], answer: Any) -> Any:
    """Return `answer` at the optimum; a vanishing gap matters, for it enters d by its root."""
    cp.Problem(objective, constraints).solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return answer.value


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_oracle_agrees_with_cvxpy(k: int) -> None:
    gradients = np.random.default_rng(k).standard_normal((k, 6))
    gram, mean = gradients @ gradients.T, gradients.mean(axis=0)
    weights, direction, worst = cp.Variable(k), cp.Variable(6), cp.Variable()
    combined = gradients.T @ weights
    pairs = [
        (
            optimum(
                cp.Minimize(cp.sum_squares(direction - gradients[0])),
                [gradients[1:] @ direction >= 0.3 * np.diagonal(gram)[1:]],
                direction,
            ),
            reference.project_primary(gram, [0.3] * (k - 1)),
        ),
        (
            optimum(cp.Minimize(cp.sum_squares(combined)), [weights >= 0, cp.sum(weights) == 1], combined),
            reference.min_norm_point(gram),
        ),
        (
            optimum(
                cp.Maximize(worst),
                [gradients @ direction >= worst, cp.norm(direction - mean) <= 0.4 * np.linalg.norm(mean)],
                direction,
            ),
            reference.conflict_averse(gram, 0.4),
        ),
        (
            optimum(cp.Minimize(cp.sum_squares(combined) / 2 - cp.sum(cp.log(weights)) / k), [], combined),
            reference.nash_bargain(gram, [1 / k] * k),
        ),
    ]
    for found, true in pairs:
        assert true is not None
        np.testing.assert_allclose(found, np.array([float(w) for w in true]) @ gradients, atol=1e-5)


def test_the_solvers_do_not_need_torch() -> None:
    code = "import sys, mobench.solvers; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
