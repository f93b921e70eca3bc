"""EPO, PMGDA, Lagrangian, augmented Lagrangian and lexicographic descent."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import linprog

from mobench.core.method import Method, Step, checked_weights
from mobench.core.problem import Bounds, Constants, VectorProblem
from mobench.core.registry import register
from mobench.core.spec import RunSpec
from mobench.core.streams import Streams
from mobench.errors import UserError
from mobench.training.loop import Group
from mobench.training.optimizer import Training
from tests.methods.method_steps import started, step_of

CENTRES = np.array([[1.0, 0.0], [-1.0, 0.0]])


def losses_at(point: np.ndarray) -> np.ndarray:
    """Two bowls, whose front is the segment between their centres."""
    return ((point - CENTRES) ** 2).sum(axis=1)


def descend(method: Method, start: tuple[float, float], steps: int = 4000, rate: float = 0.02) -> np.ndarray:
    point = np.array(start)
    for iteration in range(steps):
        gradients = 2.0 * (point - CENTRES)
        step = step_of(gradients, losses_at(point))
        step.iteration = iteration
        point = point - rate * (checked_weights(method, step) @ gradients)
    return losses_at(point)


@pytest.mark.parametrize("name", ["epo", "pmgda"])
@pytest.mark.parametrize("preference", [(1.0, 1.0), (1.0, 4.0), (9.0, 1.0)])
@pytest.mark.parametrize("start", [(0.9, 1.5), (-2.0, -1.0)])
def test_a_preference_s_own_point_of_the_front_is_found(
    name: str, preference: tuple[float, float], start: tuple[float, float]
) -> None:
    first, second = descend(started(name, 2, preference=preference, tolerance=1e-5), start, 6000, 0.004)
    assert preference[0] * first == pytest.approx(preference[1] * second, rel=0.05)
    assert np.sqrt(first) + np.sqrt(second) == pytest.approx(2.0, rel=5e-3), "on the front"


TRIANGLE = np.array([[0.0, 1.0], [-1.0, -0.5], [1.0, -0.5]])


def path(method: Method, start: tuple[float, float], centres: np.ndarray, steps: int, rate: float) -> np.ndarray:
    """Return the losses along a descent on bowls around the centres; their front is the hull of these."""
    point, seen = np.array(start), []
    for iteration in range(steps):
        seen.append(((point - centres) ** 2).sum(axis=1))
        gradients = 2.0 * (point - centres)
        step = step_of(gradients, seen[-1])
        step.iteration = iteration
        point = point - rate * (checked_weights(method, step) @ gradients)
    return np.array(seen)


@pytest.mark.parametrize("name", ["epo", "pmgda"])
@pytest.mark.parametrize("preference", [(1.0, 1.0, 1.0), (1.0, 2.0, 1.0)])
@pytest.mark.parametrize("start", [(1.5, 1.0), (0.1, -1.5)])
def test_three_losses_end_on_the_ray_of_their_preference(
    name: str, preference: tuple[float, ...], start: tuple[float, float]
) -> None:
    """With K − 1 = 2 dimensions there is one point of the plane with r_1 ℓ_1 = r_2 ℓ_2 = r_3 ℓ_3 inside the hull."""
    end = path(started(name, 3, preference=preference, tolerance=1e-4), start, TRIANGLE, 1500, 0.008)[-1]
    np.testing.assert_allclose(end * preference / (end * preference).mean(), 1.0, atol=0.05)


def test_epo_ascends_under_control() -> None:
    """Started on the front, off the ray: a loss must rise, the largest r_j ℓ_j never does, and neither does μ."""
    wanted = np.array([1.0, 4.0])
    losses = path(started("epo", 2, preference=(1.0, 4.0), tolerance=1e-5), (0.95, 0.0), CENTRES, 1000, 0.004)
    products = losses * wanted
    shares = products / products.sum(axis=1, keepdims=True)
    uniformity = (shares * np.log(2.0 * shares)).sum(axis=1)
    far = uniformity[:-1] > 1e-3
    assert losses[-1, 0] > 0.1 > losses[0, 0], "the first loss ascends"
    assert (np.diff(products.max(axis=1))[far] <= 1e-12).all()
    assert (np.diff(uniformity)[far] < 0.0).all()
    assert products[-1, 0] == pytest.approx(products[-1, 1], rel=0.02)


def test_epo_s_program_is_that_of_its_paper() -> None:
    """max αᵀGa over the simplex, (Gα)_j ≥ 0 for the largest r_j ℓ_j, ≥ (Ga)_j where that is not positive."""
    rng = np.random.default_rng(3)
    compared = 0
    for _ in range(40):
        gradients, losses, wanted = rng.standard_normal((3, 5)), rng.uniform(0.5, 3.0, 3), rng.uniform(0.5, 2.0, 3)
        step = step_of(gradients, losses)
        alpha = checked_weights(started("epo", 3, preference=tuple(wanted)), step)
        shares = wanted * losses / (wanted @ losses)
        slopes = wanted / wanted.max() * (np.log(3.0 * shares) - shares @ np.log(3.0 * shares))
        gram = gradients @ gradients.T
        gains = gram @ slopes
        lower = np.where(gains > 0.0, -np.inf, gains if (gains > 0.0).any() else 0.0)
        lower[np.argmax(wanted * losses)] = 0.0
        bounded = np.isfinite(lower)
        best = linprog(-gains, -gram[bounded], -lower[bounded], np.ones((1, 3)), [1.0], method="highs")
        if best.status == 0 and not step.notes["relaxed"]:
            compared += 1
            assert gains @ alpha == pytest.approx(-best.fun, abs=1e-4 * np.abs(gains).max())
            assert (gram @ alpha >= lower - 1e-7).all()
    assert compared > 15


def test_epo_descends_as_fast_as_it_can_once_balanced() -> None:
    """max Σ_j (Gα)_j over the simplex, Gα ≥ 0."""
    rng = np.random.default_rng(4)
    for _ in range(30):
        gradients, wanted = rng.standard_normal((3, 5)), rng.uniform(0.5, 2.0, 3)
        gram = gradients @ gradients.T
        alpha = checked_weights(started("epo", 3, preference=tuple(wanted)), step_of(gradients, 1.0 / wanted))
        best = linprog(-gram.sum(axis=0), -gram, np.zeros(3), np.ones((1, 3)), [1.0], method="highs")
        assert gram.sum(axis=0) @ alpha == pytest.approx(-best.fun, abs=1e-4 * np.abs(gram).max())
        assert (gram @ alpha >= -1e-7).all()


def test_epo_lets_no_loss_ascend_once_balanced_and_the_worst_never() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        gradients = rng.standard_normal((3, 6))
        gram = gradients @ gradients.T
        balanced = step_of(gradients, [1.0, 1.0, 1.0])
        assert (gram @ checked_weights(started("epo", 3), balanced)).min() >= -1e-8
        assert balanced.notes == {"balancing": False, "relaxed": False}
        lopsided = step_of(gradients, [1.0, 5.0, 1.0])
        assert (gram @ checked_weights(started("epo", 3), lopsided))[1] >= -1e-8
        assert lopsided.notes["balancing"] is True


def test_pmgda_approaches_the_ray_as_fast_as_asked() -> None:
    gradients = np.random.default_rng(1).standard_normal((3, 8))
    step = step_of(gradients, [1.0, 2.0, 4.0])
    method = started("pmgda", 3, sigma=0.7)
    direction = checked_weights(method, step) @ gradients
    _, slopes = method._distance(step)  # type: ignore[attr-defined]
    towards = slopes @ gradients
    mean = np.linalg.norm(gradients, axis=1).mean()
    assert towards @ direction >= (0.7 - 1e-9) * np.linalg.norm(towards) * mean
    assert step.notes["correcting"] is True


def test_multipliers_rise_while_a_threshold_is_violated() -> None:
    method = started("lagrangian", 3, threshold=(0.0, 2.0, 1.0), dual_lr=0.5)
    seen = [checked_weights(method, step_of(np.eye(3), losses)) for losses in ([9.0, 4.0, 0.5], [9.0, 1.0, 3.0])]
    np.testing.assert_allclose(seen, [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    np.testing.assert_allclose(checked_weights(method, step_of(np.eye(3), [9.0, 2.0, 1.0])), [1.0, 0.5, 1.0])


def test_a_restart_forgets_the_multiplier_of_a_constraint_that_holds() -> None:
    method = started("lagrangian", 2, threshold=1.0, dual_lr=0.5, restart=True)
    for losses in ([0.0, 3.0], [0.0, 0.99]):
        checked_weights(method, step_of(np.eye(2), losses))
    np.testing.assert_array_equal(checked_weights(method, step_of(np.eye(2), [0.0, 2.0])), [1.0, 0.0])


@pytest.mark.parametrize(
    ("name", "settings"),
    [("lagrangian", {"dual_lr": 0.02}), ("augmented-lagrangian", {"rho": 2.0, "every": 20})],
)
def test_constrained_descent_ends_on_the_threshold(name: str, settings: dict[str, Any]) -> None:
    """min ‖θ − (1, 0)‖² s.t. ‖θ + (1, 0)‖² ≤ 1 has its solution at the origin."""
    first, second = descend(started(name, 2, threshold=1.0, **settings), (0.9, 1.5))
    assert (first, second) == pytest.approx((1.0, 1.0), abs=1e-3)


def test_a_penalty_alone_stops_short_of_the_threshold() -> None:
    """With multipliers off, θ_1 = x solves 2(x−1) + ρ((x+1)² − 1) 2(x+1) = 0."""
    first, second = descend(started("augmented-lagrangian", 2, threshold=1.0, rho=1.0, multipliers=False), (0.9, 1.5))
    x = 1.0 - np.sqrt(first)
    assert second > 1.1 and 2 * (x - 1) + (second - 1.0) * 2 * (x + 1) == pytest.approx(0.0, abs=1e-6)


def test_lexicographic_descent_serves_one_after_the_other() -> None:
    method = started("lexicographic", 3, threshold=(1.0, 1.0, 1.0))
    gradients = np.array([[1.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]])
    for losses, direction, served in (
        ([2.0, 2.0, 2.0], [1.0, 0.0, 0.0], 1),
        ([0.5, 2.0, 2.0], [0.0, 1.0, 0.0], 2),
        ([0.5, 0.5, 2.0], [0.0, 0.0, 1.0], 3),
        ([0.5, 0.5, 0.5], [0.0, 0.0, 1.0], 3),
    ):
        step = step_of(gradients, losses)
        np.testing.assert_allclose(checked_weights(method, step) @ gradients, direction, atol=1e-12)
        assert step.notes["served"] == served


def test_thresholds_come_from_the_method_then_the_problem_then_the_start() -> None:
    def limits(stated: list[float] | None, **settings: Any) -> list[float]:
        method = started("lexicographic", 2, **settings)
        given = None if stated is None else np.array(stated)
        step = step_of(np.eye(2), [6.0, 4.0], [1.0, -np.inf])
        step.thresholds = given
        checked_weights(method, step)
        later = step_of(np.eye(2), [2.0, 2.0], [1.0, -np.inf])
        checked_weights(method, later)
        return method.limits.tolist()  # type: ignore[attr-defined,no-any-return]

    assert limits(None) == pytest.approx([1.5, 0.4])
    assert limits(None, share=0.5) == pytest.approx([3.5, 2.0])
    assert limits([np.nan, 0.25]) == pytest.approx([1.5, 0.25])
    assert limits([0.5, 0.25], threshold=3.0) == [3.0, 3.0]
    assert limits([0.5, 0.25], threshold="none") == [0.5, 0.25]
    with pytest.raises(UserError, match=r"lexicographic.threshold=\[1.0, 2.0, 3.0\] has 3 values for 2 objectives"):
        started("lexicographic", 2, threshold=[1.0, 2.0, 3.0])


@register
class Bowls(VectorProblem):
    """Two bowls with a stated threshold for the second."""

    id = "bowls-with-a-threshold@1"

    def objectives(self) -> tuple[str, ...]:
        return ("left", "right")

    def thresholds(self, seed: int) -> tuple[float, ...]:
        return (float("nan"), 1.0)

    def hypervolume_bounds(self) -> Bounds:
        return Bounds((0.0, 0.0), (5.0, 5.0))

    def constants(self, streams: Streams) -> Constants:
        return {}

    def initial(self, constants: Constants, streams: Streams) -> torch.Tensor:
        return torch.tensor([0.9, 1.5], dtype=torch.float64)

    @staticmethod
    def values(theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        return ((theta[:, None] - torch.from_numpy(CENTRES)) ** 2).sum(-1)

    @staticmethod
    def gradients(theta: torch.Tensor, constants: Constants, iteration: int) -> torch.Tensor:
        return 2.0 * (theta[:, None] - torch.from_numpy(CENTRES))


def test_a_problem_s_thresholds_reach_the_method() -> None:
    method = started("lagrangian", 2, dual_lr=0.02)
    training = Training(optimizer="sgd", lr=0.02, steps=2000).configuration()
    group = Group([RunSpec.of(Bowls(), method, training, 0)])
    group.run(None, 1e9)
    assert group.workload.metrics(0)["loss/right"] == pytest.approx(1.0, abs=1e-3)


def test_the_first_step_of_a_penalty_sees_its_thresholds_from_the_start() -> None:
    step: Step = step_of(np.eye(2), [1.0, 10.0])
    np.testing.assert_allclose(checked_weights(started("augmented-lagrangian", 2), step), [1.0, 9.0])
