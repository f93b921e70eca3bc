from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mobench.errors import NonFiniteError
from mobench.solvers import conflict_averse, correlation, min_norm_point, nash_bargain, project_primary, surgery
from mobench.solvers.scaling import eigenvalues_exceed
from tests.solvers.gradients import Array

LARGE = 2.0**498
"""About 1e150, and a power of two, so that scaling by it is exact."""


def test_unit_diagonal_and_lengths() -> None:
    gradients = np.array([[3.0, 4.0], [0.0, 2.0]])
    scaled, norms = correlation(gradients @ gradients.T)
    np.testing.assert_allclose(scaled, [[1.0, 0.8], [0.8, 1.0]], rtol=1e-15)
    assert norms.tolist() == [5.0, 2.0]


def test_a_zero_gradient_is_orthogonal_to_all_others() -> None:
    scaled, norms = correlation(np.array([[4.0, 0.0, 2.0], [0.0, 0.0, 0.0], [2.0, 0.0, 4.0]]))
    assert scaled.tolist() == [[1.0, 0.0, 0.5], [0.0, 1.0, 0.0], [0.5, 0.0, 1.0]]
    assert norms.tolist() == [2.0, 0.0, 2.0]


def test_the_input_is_not_changed() -> None:
    gram = np.array([[4.0, 0.0], [0.0, 0.0]])
    scaled, _ = correlation(gram)
    scaled[0, 0] = 7.0
    assert gram.tolist() == [[4.0, 0.0], [0.0, 0.0]]


def solvers(k: int) -> dict[str, Callable[[Array], Array]]:
    orders = [[j for j in range(k) if j != i] for i in range(k)]
    return {
        "pcd": lambda gram: np.array([1.0, *project_primary(gram, 0.3).multipliers]),
        "mgda": min_norm_point,
        "cagrad": lambda gram: conflict_averse(gram, 0.4),
        "nash": lambda gram: nash_bargain(gram, np.full(k, 1.0 / k)).alpha,
        "pcgrad": lambda gram: surgery(gram, orders),
    }


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("name", ["pcd", "mgda", "cagrad", "nash", "pcgrad"])
def test_lengths_of_1e150_and_1e_minus_150_neither_overflow_nor_underflow(k: int, name: str) -> None:
    gradients = np.random.default_rng(k).standard_normal((k, 7))
    gram = gradients @ gradients.T
    solver = solvers(k)[name]
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        plain = solver(gram)
        for factor in (LARGE, 1.0 / LARGE):
            scaled = solver(gram * factor * factor)
            np.testing.assert_allclose(scaled * factor if name == "nash" else scaled, plain, rtol=1e-13)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("name", ["pcd", "mgda", "cagrad", "nash", "pcgrad"])
def test_one_gradient_of_1e150_beside_one_of_1e_minus_150(k: int, name: str) -> None:
    gradients = np.random.default_rng(k).standard_normal((k, 7))
    factors = np.array([1.0 / LARGE, LARGE, *np.ones(k - 2)])
    gram = (gradients @ gradients.T) * factors * factors[:, None]
    with np.errstate(divide="raise", invalid="raise"):
        weights = solvers(k)[name](gram)
    assert np.isfinite(weights).all()
    assert weights.any()


@pytest.mark.parametrize("k", [2, 3, 5, 8])
@pytest.mark.parametrize("name", ["pcd", "mgda", "cagrad", "nash", "pcgrad"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_matrix_that_is_not_finite_is_refused_at_once(k: int, name: str, bad: float) -> None:
    for i, j in ((0, 0), (k - 1, k - 1), (k - 1, 0)):
        gram = np.eye(k)
        gram[i, j] = gram[j, i] = bad
        with pytest.raises(NonFiniteError, match="Gram matrix"):
            solvers(k)[name](gram)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_smallest_eigenvalue_of_the_unit_gradients_is_compared(k: int) -> None:
    rng = np.random.default_rng(k)
    for _ in range(20):
        gradients = rng.standard_normal((k, 6))
        unit = gradients / np.linalg.norm(gradients, axis=1, keepdims=True)
        smallest = float(np.linalg.eigvalsh(unit @ unit.T)[0])
        spread = gradients * 10.0 ** rng.uniform(-6.0, 6.0, (k, 1))
        assert eigenvalues_exceed(spread @ spread.T, 0.999 * smallest)
        assert not eigenvalues_exceed(spread @ spread.T, 1.001 * smallest)
