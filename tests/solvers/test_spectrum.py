"""Equal projections and balanced weights, against their definitions and a 60-digit oracle."""

import mpmath
import numpy as np
import pytest

from mobench.solvers import balanced_weights, equal_projections


def oracle(gradients: np.ndarray) -> np.ndarray:
    """√λ_min V Λ^(−1/2) Vᵀ 1/K in 60 digits."""
    with mpmath.workdps(60):
        rows, k = mpmath.matrix(gradients.tolist()), len(gradients)
        values, vectors = mpmath.eigsy(rows * rows.T)
        least = min(values)
        sums = [mpmath.sqrt(least / values[m]) * sum(vectors[j, m] for j in range(k)) / k for m in range(k)]
        return np.array([float(sum(vectors[i, m] * sums[m] for m in range(k))) for i in range(k)])


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("decades", [0.0, 6.0])
def test_balanced_weights_are_exact_over_twelve_decades(k: int, decades: float) -> None:
    rng = np.random.default_rng(k)
    for _ in range(3):
        gradients = rng.standard_normal((k, 12)) * 10.0 ** rng.uniform(-decades, decades, (k, 1))
        found, true = balanced_weights(gradients @ gradients.T, "min"), oracle(gradients)
        np.testing.assert_allclose(found, true, rtol=1e-8, atol=1e-9 * np.abs(true).max())


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("decades", [4.0, 9.0, 12.0])
def test_the_balanced_update_is_right_to_rounding_whatever_the_lengths(k: int, decades: float) -> None:
    rng = np.random.default_rng(k)
    unit = rng.standard_normal((k, 12))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    spread = np.array([-0.5, 0.5, *rng.uniform(-0.5, 0.5, k - 2)])
    gradients = unit * 10.0 ** (decades * spread)[:, None]
    off = balanced_weights(gradients @ gradients.T, "min") - oracle(gradients)
    assert np.linalg.norm(off @ gradients) <= 1e-13 * np.linalg.norm(oracle(gradients) @ gradients)


def test_balanced_gradients_are_orthogonal_and_of_the_shortest_length() -> None:
    """‖d‖² = λ_min/K, and d has the same product with every principal direction."""
    gradients = np.random.default_rng(0).standard_normal((4, 9))
    gram = gradients @ gradients.T
    values = np.linalg.eigvalsh(gram)
    for scale, level in (("min", values.min()), ("median", np.median(values)), ("rmse", values.mean())):
        weights = balanced_weights(gram, scale)  # type: ignore[arg-type]
        assert weights @ gram @ weights == pytest.approx(level / 4)


def test_dependent_gradients_lose_no_direction() -> None:
    gradients = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 2.0]])
    weights = balanced_weights(gradients @ gradients.T, "min")
    _, singular, rows = np.linalg.svd(gradients)
    left = gradients @ rows.T / singular
    np.testing.assert_allclose(weights @ gradients, singular.min() * (left.mean(axis=0) @ rows), rtol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 8, 16])
def test_projections_are_equal(k: int) -> None:
    rng = np.random.default_rng(k)
    gradients = rng.standard_normal((k, 30)) * 10.0 ** rng.uniform(-6, 6, (k, 1))
    unit = gradients / np.linalg.norm(gradients, axis=1, keepdims=True)
    np.testing.assert_allclose(unit @ (equal_projections(gradients @ gradients.T) @ unit), np.ones(k), rtol=1e-10)


def test_opposites_have_no_equal_projection_and_zeros_no_part_in_it() -> None:
    assert not equal_projections(np.array([[1.0, -1.0], [-1.0, 1.0]])).any()
    np.testing.assert_allclose(equal_projections(np.diag([4.0, 0.0])), [1.0, 0.0])


@pytest.mark.parametrize("scale", ["min", "median", "rmse"])
def test_two_gradients_in_closed_form_are_balanced(scale) -> None:
    """√λ G^(−1/2) 1/2 by an eigen-decomposition."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        gradients = rng.standard_normal((2, 3)) * 10.0 ** rng.uniform(-1, 1, (2, 1))
        values, vectors = np.linalg.eigh(gradients @ gradients.T)
        level = values.min() if scale == "min" else values.mean()
        true = vectors @ (vectors.sum(axis=0) / np.sqrt(values)) * np.sqrt(level) / 2.0
        found = balanced_weights(gradients @ gradients.T, scale)
        np.testing.assert_allclose(found, true, atol=1e-12 * np.abs(true).max() * values.max() / values.min())
