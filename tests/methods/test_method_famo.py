"""FAMO: against torch's autograd and Adam, and losses at, below or without their bounds."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from mobench.core.method import Method, Vector, checked_weights
from mobench.errors import MethodError, NonFiniteError
from tests.methods.method_steps import started, step_of

NONE = -math.inf
Floats = Sequence[float] | Vector


def weigh(method: Method, losses: Floats, bounds: Floats | None = None) -> Vector:
    """Return the weights of one step with these losses."""
    return checked_weights(method, step_of(np.eye(len(losses)), losses, bounds))


def test_first_weights_are_inverse_losses() -> None:
    np.testing.assert_allclose(weigh(started("famo", 3), [1.0, 2.0, 4.0]), np.array([4, 2, 1]) / 7, rtol=1e-15)


@pytest.mark.parametrize("gamma", [0.0, 1e-3, 0.5])
def test_fifty_steps_agree_with_torchs_adam(gamma: float) -> None:
    rng = np.random.default_rng(4)
    bounds = np.array([0.0, -3.0, 0.5])
    xi = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    adam = torch.optim.Adam([xi], lr=0.025, betas=(0.9, 0.999), weight_decay=gamma)
    method = started("famo", 3, gamma=gamma)
    for _ in range(50):
        before, after = bounds + rng.uniform(0.1, 2.0, size=(2, 3))
        z = torch.softmax(xi, 0)
        rates = z.detach().numpy() / (before - bounds)
        np.testing.assert_allclose(weigh(method, before, bounds), rates / rates.sum(), rtol=1e-12)
        method.observe(after)
        change = torch.from_numpy(np.log(before - bounds) - np.log(after - bounds))
        (xi.grad,) = torch.autograd.grad(z, xi, change)
        adam.step()
    assert float(xi.detach().abs().max()) > 0.05


def test_the_objective_that_falls_slowest_gains_weight() -> None:
    method = started("famo", 2)
    for _ in range(20):
        weights = weigh(method, [1.0, 1.0])
        method.observe(np.array([0.5, 0.99]))
    assert weights[1] > 0.6 > 0.4 > weights[0]


def test_weight_decay_pulls_back_to_equal_weights() -> None:
    spread = {}
    for gamma in (0.0, 10.0):
        method = started("famo", 2, gamma=gamma)
        for _ in range(300):
            weights = weigh(method, [1.0, 1.0])
            method.observe(np.array([0.9, 1.0]))
        spread[gamma] = weights[1] - weights[0]
    assert spread[10.0] < 0.1 < spread[0.0]


@pytest.mark.parametrize("loss", [0.0, -1.0, 5e-324])
def test_loss_at_or_below_its_bound_is_finite_and_recorded(loss: float) -> None:
    method = started("famo", 2)
    step = step_of(np.eye(2), [loss, 1.0], [0.0, 0.0])
    weights = checked_weights(method, step)
    np.testing.assert_allclose(weights, [1.0, 1e-8], rtol=1e-7)
    assert step.notes["floored"] is True
    method.observe(np.array([-2.0, 0.5]))
    assert np.isfinite(weigh(method, [1.0, 1.0])).all()


def test_losses_above_their_bounds_are_not_floored() -> None:
    step = step_of(np.eye(2), [1.0, 2.0])
    checked_weights(started("famo", 2), step)
    assert step.notes["floored"] is False


def test_floor_is_a_setting() -> None:
    np.testing.assert_allclose(weigh(started("famo", 2, floor=0.1), [0.0, 0.1]), [0.5, 0.5], rtol=1e-15)


def test_unknown_bound_is_zero_unless_set() -> None:
    np.testing.assert_allclose(weigh(started("famo", 2), [1.0, 3.0], [NONE, 0.0]), [0.75, 0.25], rtol=1e-15)
    method = started("famo", 2, unknown_bound=-2.0)
    np.testing.assert_allclose(weigh(method, [-1.0, 1.0], [NONE, 0.0]), [0.5, 0.5], rtol=1e-15)


def test_stated_bounds_shift_the_losses() -> None:
    shifted = weigh(started("famo", 2), [1.0 - 7.0, 3.0], [-7.0, 0.0])
    np.testing.assert_allclose(shifted, weigh(started("famo", 2), [1.0, 3.0]), rtol=1e-15)


def test_observing_before_any_step_is_an_error() -> None:
    with pytest.raises(MethodError, match="taken none since its reset"):
        started("famo", 2).observe(np.ones(2))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_non_finite_losses_are_refused_before_and_after_the_step(bad: float) -> None:
    with pytest.raises(NonFiniteError):
        weigh(started("famo", 2), [bad, 1.0])
    method = started("famo", 2)
    weigh(method, [1.0, 1.0])
    with pytest.raises(NonFiniteError):
        method.observe(np.array([1.0, bad]))


def test_another_number_of_objectives_than_at_reset_is_an_error() -> None:
    with pytest.raises(MethodError, match="reset for 2 objectives and got 3"):
        weigh(started("famo", 2), [1.0, 1.0, 1.0])
