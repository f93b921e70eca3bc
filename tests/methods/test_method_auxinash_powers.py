"""AuxiNash with learned powers: their gradient, and where they go."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import mobench
from mobench.core.method import Method, Step, Vector, checked_weights
from mobench.core.problem import Task, TaskProblem
from mobench.core.registry import find_method, find_problem
from mobench.core.spec import RunSpec
from mobench.core.streams import Streams
from mobench.errors import UserError
from mobench.methods.auxinash import LEAST_POWER, hypergradient, power_gradient
from mobench.solvers import nash_bargain
from mobench.training.optimizer import Training
from mobench.training.workload import TaskWorkload
from tests.methods.method_steps import Rows, repeatable, started, step_of
from tests.training.small_methods import HalfSquare


@repeatable
@given(seed=st.integers(0, 10**6), k=st.integers(2, 6), spread=st.floats(0.0, 3.0))
def test_the_gradient_agrees_with_finite_differences(seed: int, k: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(k, 12)) * 10.0 ** rng.uniform(-spread, spread, size=(k, 1))
    gram, products = rows @ rows.T, rows @ rng.normal(size=12)
    powers = rng.dirichlet(np.full(k, 3.0)) + 0.02
    found = power_gradient(gram, powers, nash_bargain(gram, powers).alpha, products)

    def value(at: Vector) -> float:
        return -float(nash_bargain(gram, at).alpha @ products)

    for i in range(k):
        small = 1e-4 * powers[i] * np.eye(k)[i]
        slope = (value(powers - 2 * small) - 8 * value(powers - small)) / 12
        slope += (8 * value(powers + small) - value(powers + 2 * small)) / 12
        assert slope / small[i] == pytest.approx(found[i], rel=1e-5, abs=1e-6 * np.abs(found).max())


def learned_step(gradients: Any, held_out: Any, iteration: int = 0) -> Step:
    plain = step_of(gradients)
    slopes = Rows(np.array(held_out, dtype=np.float64))
    return Step(plain.losses, plain._source, plain.lower_bounds, iteration, None, lambda: Step(plain.losses, slopes))


def shares_after(held_out: Any, steps: int = 1, **settings: Any) -> Vector:
    method: Any = started("auxinash", 3, powers="learned", power_every=1, **settings)
    for iteration in range(steps):
        checked_weights(method, learned_step(np.diag([1.0, 2.0, 0.5]), held_out, iteration))
    return method.shares


def test_one_update_by_hand() -> None:
    # Orthogonal gradients: α_i = √p_i/‖g_i‖. For ∇ℓ along g_2, cos(d, ∇ℓ) = √p_2 and h = (0, −1/(2√p_2), 0).
    before = np.array([0.5, 0.25, 0.25])
    expected = before * np.exp([0.0, 0.1 / (2.0 * 0.5), 0.0])
    found = shares_after([[0, 7, 0]] * 3)
    np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-9)


@pytest.mark.parametrize("helpful", [0, 1, 2])
def test_power_goes_to_the_objective_that_helps_on_held_out_data(helpful: int) -> None:
    shares = shares_after([np.eye(3)[helpful]] * 3, steps=400)
    assert shares.argmax() == helpful
    assert shares.sum() == pytest.approx(1.0)
    assert shares.min() >= LEAST_POWER / (1 + 3 * LEAST_POWER)
    assert shares[helpful] > 0.99


def test_only_the_primary_held_out_loss_counts_and_its_scale_does_not() -> None:
    expected = shares_after([[0, 7, 1], [0, 0, 0], [0, 0, 0]])
    np.testing.assert_allclose(shares_after([[0, 7e6, 1e6], [1, 0, 0], [5, 5, 5]]), expected, rtol=1e-12)


def test_nothing_is_learned_between_updates_nor_without_a_bargain() -> None:
    method: Any = started("auxinash", 2, powers="learned", power_every=3)
    read = []
    for iteration in range(7):
        step = learned_step(np.eye(2), [[0, 1], [0, 1]], iteration)
        before = method.shares
        checked_weights(method, step)
        read.append(not callable(step._held_out))
        assert before is None or (method.shares is before) == (iteration % 3 != 0)
    assert read == [True, False, False, True, False, False, True]
    for gradients in ([[1, 0], [-2, 0]], [[1, 0], [0, 0]]):
        step, before = learned_step(gradients, [[0, 1], [0, 1]], 9), method.shares
        checked_weights(method, step)
        assert method.shares is before
    checked_weights(method, learned_step(np.eye(2), np.zeros((2, 2)), 12))
    assert method.shares is before


def test_a_run_without_held_out_data_is_refused() -> None:
    with pytest.raises(UserError, match="powers=learned needs a held-out batch"):
        checked_weights(started("auxinash", 2, powers="learned"), step_of(np.eye(2)))


def test_a_misled_primary_is_corrected_in_training() -> None:
    """The primary trains on wrong targets; the auxiliary, and what is held out, have the right ones."""

    def train(**settings: Any) -> tuple[float, float]:
        theta = torch.zeros(2, dtype=torch.float64, requires_grad=True)
        right, wrong = torch.tensor([0.0, 3.0]), torch.tensor([3.0, 0.0])
        optimizer = torch.optim.SGD([theta], lr=0.02)

        def held_out() -> list[torch.Tensor]:
            return [(theta - right).square().sum(), theta.sum()]

        objective: Any = mobench.MultiObjective("auxinash", optimizer, held_out=held_out, **settings)
        for _ in range(60):
            objective.backward([(theta - wrong).square().sum(), (theta - right).square().sum()])
            optimizer.step()
        return float(held_out()[0].detach()), float(objective.method.shares[0])

    fixed, half = train(p=0.5)
    learned, power = train(p=0.5, powers="learned", power_every=2, power_lr=0.5)
    assert half == 0.5
    assert power < 0.1
    assert learned < 0.9 * fixed


def spec_of(method: Method) -> RunSpec:
    return RunSpec.of(find_problem("double-well")(), method, Training(steps=10).configuration(), 0)


def test_fixed_powers_keep_the_ids_that_runs_had_before_powers_could_be_learned() -> None:
    auxinash = find_method("auxinash")
    fixed = spec_of(auxinash(powers="fixed"))
    assert fixed.method_settings == {"p": 0.5, "max_norm": 1.0}
    assert fixed.id == "4df018659c00ba37450a5b333c9b2b0a11c1c8678cec6fdadf8b4aad583998e7"
    learned = spec_of(auxinash(powers="learned"))
    assert learned.method_settings == {"p": 0.5, "max_norm": 1.0, "powers": "learned"}
    assert learned.id != fixed.id
    for spec in (fixed, learned):
        assert spec_of(spec.build_method()).id == spec.id


class KeptSquare(HalfSquare):
    """½‖θ‖², whose gradient is that of the last update."""

    def update(self) -> None:
        super().__init__(self.parameters)
        self.kept = [parameter.detach().clone() for parameter in self.parameters]

    def gradient(self, index: int) -> torch.Tensor:
        return self.kept[index]


class Bowls(Task):
    """½(θ − b)ᵀ A (θ − b), A of rank 3, and ½‖θ‖² as a closed form, over two tensors of six numbers."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.rng = np.random.default_rng(0)
        self.parameters = [torch.from_numpy(self.rng.normal(size=shape)).to(dtype) for shape in ((2, 2), (2,))]
        for parameter in self.parameters:
            parameter.requires_grad_()
        root = self.rng.normal(size=(3, 6))
        self.hessian = torch.from_numpy(30.0 * root.T @ root).to(dtype)
        self.square = KeptSquare(self.parameters)

    def second_batch(self) -> torch.Tensor:
        return torch.from_numpy(self.rng.normal(size=6)).to(self.hessian)

    def batches(self) -> Iterator[torch.Tensor]:
        while True:
            yield self.second_batch()

    def losses(self, batch: torch.Tensor) -> list[Any]:
        away = torch.cat([parameter.flatten() for parameter in self.parameters]) - batch
        self.square.update()
        return [0.5 * away @ self.hessian @ away, self.square]

    def metrics(self) -> dict[str, float]:
        return {}


class TwoBowls(TaskProblem):
    """The problem of `Bowls`."""

    id = "two-bowls@1"
    has_second_batch = True
    dtype = torch.float64

    def objectives(self) -> tuple[str, ...]:
        return ("bowl", "square")

    def start(self, streams: Streams) -> Bowls:
        return Bowls(self.dtype)


def bowls(dtype: torch.dtype = torch.float64) -> tuple[Bowls, TaskWorkload, Callable[[int], Step]]:
    task = Bowls(dtype)
    workload = TaskWorkload(TwoBowls(), task, 0)

    def step(iteration: int) -> Step:
        (losses,) = workload.begin(iteration)
        return Step(
            losses, workload.gradients_of(0), None, iteration, second_batch=partial(workload.second_batch, 0),
            hessian_product=partial(workload.hessian_product, 0),
        )  # fmt: skip

    return task, workload, step


@pytest.mark.parametrize(("dtype", "precision"), [(torch.float64, 1e-9), (torch.float32, 1e-4)])
def test_products_with_a_hessian_that_is_known(dtype: torch.dtype, precision: float) -> None:
    task, _, step_at = bowls(dtype)
    step, before = step_at(0), [parameter.clone() for parameter in task.parameters]
    gradients = step.gradients
    vector = torch.arange(1.0, 7.0, dtype=dtype)
    found = step.hessian_product(np.array([2.0, -3.0]), vector)
    expected = 2.0 * task.hessian @ vector - 3.0 * vector
    assert float((found - expected).norm() / expected.norm()) < precision
    assert all(map(torch.equal, before, task.parameters))
    assert torch.equal(step.gradients, gradients), "also of a loss that keeps what it found out where it was asked last"


def test_the_hypergradient_of_quadratic_losses_has_its_closed_form() -> None:
    task, _, step_at = bowls()
    step = step_at(0)
    powers = np.array([0.3, 0.7])
    alpha = nash_bargain(step.gram, powers).alpha
    slope = step.second_batch.gradients[0]  # type: ignore[union-attr]
    found = hypergradient(step, slope, powers, alpha)
    rows, scaled = step.gradients.numpy(), math.sqrt(2.0) * alpha
    contraction = np.eye(6) - 1e-4 * (scaled[0] * task.hessian.numpy() + scaled[1] * np.eye(6))
    neumann = sum((np.linalg.matrix_power(contraction, j) for j in range(4)), np.zeros((6, 6)))
    jacobian = np.linalg.inv(rows @ rows.T + np.diag(2.0 * powers / scaled**2)) @ np.diag(1.0 / scaled)
    expected = -jacobian.T @ rows @ neumann @ slope.numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    flat = -jacobian.T @ rows @ (4.0 * slope.numpy())
    assert np.abs(flat - expected).max() > 1e-4 * np.abs(expected).max(), "the Hessian matters"


def test_hypergradient_steps_have_the_authors_settings() -> None:
    """Two updates by hand: the clipped gradient, its momentum, and the floor."""
    _, workload, step_at = bowls()
    method: Any = started("auxinash", 2, powers="hypergradient")
    powers, velocity = np.array([0.5, 0.5]), np.zeros(2)
    for iteration in range(27):
        step = step_at(iteration)
        if iteration % 25 == 0:
            alpha = nash_bargain(step.gram, powers).alpha
            slope = hypergradient(step, step.second_batch.gradients[0], powers, alpha)  # type: ignore[union-attr]
            assert np.linalg.norm(slope) > 1.0
            velocity = 0.9 * velocity + slope / np.linalg.norm(slope)
            powers = 2.0 * powers - 0.005 * velocity
            powers /= powers.sum()
        checked_weights(method, step)
        np.testing.assert_allclose(method.shares, powers, rtol=1e-12)
        workload.end()
    method.shares, method.velocity = np.array([0.99999, 0.00001]), np.array([0.0, 1.0])
    checked_weights(method, step_at(50))
    assert method.shares.min() >= 1e-4 / 2.1


def test_hypergradients_are_refused_where_nothing_offers_them_and_have_no_settings() -> None:
    with pytest.raises(UserError, match=r"auxinash.power_lr has no effect with auxinash.powers=hypergradient"):
        find_method("auxinash")(powers="hypergradient", power_lr=0.01)
    with pytest.raises(UserError, match="auxinash needs a second, independent batch"):
        checked_weights(started("auxinash", 2, powers="hypergradient"), step_of(np.eye(2)))
    theta = torch.ones(2, requires_grad=True)
    objective = mobench.MultiObjective(
        "auxinash", [theta], second_batch=lambda: [theta[0] ** 2, theta[1] ** 2], powers="hypergradient"
    )
    with pytest.raises(UserError, match="products with the Hessian of the training losses are offered in runs"):
        objective.backward([theta[0] ** 2, theta[1] ** 2])
