"""CAGrad: exact answers, optimality in its ball, and the published rescalings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobench.core.registry import find_method
from mobench.errors import UserError
from tests.methods.method_steps import direction_of, repeatable, weights_of


@pytest.mark.parametrize("k", [2, 3, 6])
def test_symmetric_gradients_stretch_the_mean(k: int) -> None:
    np.testing.assert_allclose(weights_of("cagrad", np.eye(k), c=0.4), np.full(k, 1.4 / k), rtol=1e-10)


def test_radius_zero_is_the_mean_gradient() -> None:
    gradients = np.random.default_rng(0).normal(size=(4, 6))
    np.testing.assert_allclose(weights_of("cagrad", gradients, c=0.0), np.full(4, 0.25), rtol=1e-12)


@repeatable
@given(seed=st.integers(0, 10**6), k=st.integers(2, 5), c=st.floats(0.05, 3.0))
def test_no_other_point_of_the_ball_serves_the_worst_objective_better(seed: int, k: int, c: float) -> None:
    rng = np.random.default_rng(seed)
    gradients = rng.normal(size=(k, 6))
    mean = gradients.mean(0)
    radius = c * np.linalg.norm(mean)
    direction = direction_of("cagrad", gradients, c=c)
    assert np.linalg.norm(direction - mean) <= radius * (1 + 1e-8)
    steps = rng.normal(size=(200, 6))
    others = mean + radius * steps / np.linalg.norm(steps, axis=1, keepdims=True)
    nearby = direction + 1e-3 * radius * steps
    nearby = mean + (nearby - mean) * np.minimum(1.0, radius / np.linalg.norm(nearby - mean, axis=1))[:, None]
    best = max((others @ gradients.T).min(1).max(), (nearby @ gradients.T).min(1).max())
    assert (gradients @ direction).min() >= best - 1e-8


def test_mean_zero_is_a_fixed_point() -> None:
    np.testing.assert_allclose(direction_of("cagrad", [[1, 0], [-1, 0]]), [0.0, 0.0], atol=1e-15)


@pytest.mark.parametrize(("rescale", "divisor"), [("none", 1.0), ("1+c^2", 1.25), ("1+c", 1.5)])
def test_rescaling_divides(rescale: str, divisor: float) -> None:
    gradients = np.random.default_rng(1).normal(size=(3, 5))
    plain = weights_of("cagrad", gradients, c=0.5)
    np.testing.assert_allclose(weights_of("cagrad", gradients, c=0.5, rescale=rescale), plain / divisor, rtol=1e-15)


def test_a_ball_that_holds_zero_leaves_nobody_worse_off() -> None:
    gradients = [[1.0, 0.0], [-2.0, 1.0]]  # the mean (−½, ½) is worst for the first
    for c in (1.0, 3.0):
        assert min(np.array(gradients) @ direction_of("cagrad", gradients, c=c)) >= -1e-12
    np.testing.assert_allclose(direction_of("cagrad", [[1.0, 0.0], [-2.0, 0.0]], c=1.5), [0.0, 0.0], atol=1e-15)


def test_a_negative_radius_is_refused() -> None:
    with pytest.raises(UserError, match=r"cagrad\.c=-0\.1 .*\[0, inf\)"):
        find_method("cagrad")(c=-0.1)
