"""The linear programs on a simplex against SciPy's HiGHS."""

import numpy as np
import pytest
from scipy.optimize import linprog

from mobench.solvers import best_on_simplex, best_worst_case


@pytest.mark.parametrize("k", [2, 3, 5, 12])
def test_the_best_combination_is_as_good_as_highs_and_as_feasible(k: int) -> None:
    rng = np.random.default_rng(k)
    infeasible = 0
    for _ in range(40):
        gains, rows = rng.standard_normal(k), rng.standard_normal((k, k))
        demands = np.where(rng.random(k) < 0.3, -np.inf, rng.uniform(-0.6, 0.1, k))
        found, bounded = best_on_simplex(gains, rows, demands), np.isfinite(demands)
        true = linprog(-gains, -rows[bounded], -demands[bounded], np.ones((1, k)), [1.0])
        assert (found is None) == (true.x is None)
        if found is None:
            infeasible += 1
            continue
        assert found.min() >= 0.0 and found.sum() == pytest.approx(1.0)
        assert (rows @ found - demands).min() >= -1e-8
        assert gains @ found >= -true.fun - 1e-6 * np.abs(gains).max()
    assert infeasible < 40


def test_of_equally_good_combinations_the_shortest_is_taken() -> None:
    np.testing.assert_allclose(best_on_simplex(np.ones(3), np.eye(3), np.zeros(3)), np.full(3, 1 / 3))
    np.testing.assert_allclose(best_on_simplex(np.array([1.0, 1.0, 0.0]), np.eye(3), np.zeros(3)), [0.5, 0.5, 0.0])


@pytest.mark.parametrize("k", [2, 3, 8])
def test_the_best_worst_case(k: int) -> None:
    rng = np.random.default_rng(k)
    for _ in range(20):
        rows, demand = rng.standard_normal((k, k + 1)), np.append(rng.uniform(-1, 1, k), 1.0)
        found = best_worst_case(rows, demand, 0.8)
        assert found is not None and demand @ found >= 0.8 - 1e-9
        sides = np.vstack([np.column_stack([-rows, np.ones(k)]), np.append(-demand, 0.0)])
        true = linprog(
            np.append(np.zeros(k + 1), -1.0), sides, [*[0.0] * k, -0.8], np.append(np.ones(k + 1), 0.0)[None], [1.0],
            [(0.0, None)] * (k + 1) + [(None, None)],
        )  # fmt: skip
        assert (rows @ found).min() == pytest.approx(-true.fun, abs=3e-6)
    assert best_worst_case(rows, -np.ones(k + 1), 0.5) is None


def test_two_variables_are_as_quadprog_has_them() -> None:
    """A third one that no demand knows and that gains nothing changes nothing."""
    rng = np.random.default_rng(0)
    infeasible = 0
    for _ in range(300):
        gains, rows, demands = rng.uniform(1.0, 2.0, 2), rng.standard_normal((2, 2)), rng.uniform(-0.6, 0.1, 2)
        found = best_on_simplex(gains, rows, demands)
        wide = np.column_stack([np.vstack([rows, np.zeros(2)]), np.full(3, -9.0)])
        true = best_on_simplex(np.append(gains, -9.0), wide, np.append(demands, -np.inf))
        assert (found is None) == (true is None)
        infeasible += found is None
        if found is not None and true is not None:
            np.testing.assert_allclose(found, true[:2], atol=1e-8)
    assert 0 < infeasible < 300


def test_demands_that_touch_each_other_are_met_where_they_touch() -> None:
    rows = np.array([[1.0, -2.0], [-1.0, 2.0]]) / np.sqrt(5.0)
    for share in (0.0, 0.1, 0.3, 1.0):
        demands = rows @ [share, 1.0 - share]
        np.testing.assert_allclose(best_on_simplex([0.0, 1.0], rows, demands), [share, 1.0 - share], atol=1e-15)
    assert best_on_simplex([0.0, 1.0], rows, demands + 1e-12) is None
    np.testing.assert_array_equal(best_on_simplex([0.0, 1.0], np.ones((2, 2)), [1.0, -np.inf]), [0.0, 1.0])
    assert best_on_simplex([0.0, 1.0], np.ones((2, 2)), [1.1, -np.inf]) is None
