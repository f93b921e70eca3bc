"""Methods without a counterpart in TorchJD, against what is stated of them in code that shares nothing with theirs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from scipy.optimize import linprog
from scipy.special import softmax
from sklearn.linear_model import Lasso

from mobench.cli import main
from mobench.core import registry
from mobench.core.method import UNVERIFIED, Method, Step, Vector, checked_weights
from mobench.core.problem import Task, TaskProblem
from mobench.core.registry import find_method, methods
from mobench.core.spec import RunSpec
from mobench.core.streams import Streams
from mobench.leaderboard.site.cards import method_card
from mobench.training.loop import Group
from mobench.training.optimizer import Training
from tests.methods.method_steps import started, step_of

RNG = np.random.default_rng(7)
GRADIENTS = RNG.standard_normal((6, 3, 8)) * np.array([1.0, 4.0, 0.3])[:, None]
LOSSES = RNG.uniform(0.3, 3.0, (6, 3))


def test_every_method_says_what_its_form_was_verified_against() -> None:
    shipped = {name: kind for name, kind in methods().items() if kind.__module__.startswith("mobench.methods.")}
    said = {name: kind.verified for name, kind in shipped.items()}
    assert all(len(words) > 8 for words in said.values()), said
    unverified = {name for name, words in said.items() if words.startswith("unverified")}
    assert unverified == {"pmgda", "lexicographic"}


def test_lists_and_pages_say_what_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "method", "bloop"]) == 0
    words = "the rule in the authors' code for K = 2, the paper's text for more; trajectories by hand"
    assert f"verification: {words}" in " ".join(capsys.readouterr().out.split())
    assert method_card("bloop").verified == words

    class Silent(Method):
        def weights(self, step: Step) -> list[float]:
            return [1.0] * step.k

    assert Silent.verified == "" and UNVERIFIED == "unverified"


def nearest_on_simplex(point: Vector) -> Vector:
    """Bisection on the level that is taken off."""
    low, high = point.min() - 1.0, point.max()
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.maximum(point - middle, 0.0).sum() > 1.0 else (low, middle)
    return np.maximum(point - low, 0.0)


@pytest.mark.parametrize("form", ["projection", "softmax"])
def test_moco_s_trajectory_by_hand(form: str) -> None:
    beta, gamma, rho = 0.4, 0.2, 0.05
    method = started("moco", 3, beta=beta, gamma=gamma, rho=rho, form=form)
    tracked, alpha = np.zeros((3, 8)), np.full(3, 1.0 / 3.0)
    for t, (rows, losses) in enumerate(zip(GRADIENTS, LOSSES, strict=True), start=1):
        if form == "projection":
            tracked = rows if t == 1 else tracked - beta * (tracked - rows)
            alpha = nearest_on_simplex(alpha - gamma * (tracked @ tracked.T + rho * np.eye(3)) @ alpha)
        else:
            unit = rows / (np.linalg.norm(rows, axis=1)[:, None] + 1e-8) * losses[:, None]
            tracked = tracked - beta / t**0.5 * (tracked - unit)
            alpha = softmax(alpha - gamma / t**0.5 * (tracked @ tracked.T + rho * np.eye(3)) @ alpha)
        np.testing.assert_allclose(method.direction(step_of(rows, losses)).numpy(), tracked.T @ alpha, rtol=1e-10)


def test_gradnorm_s_trajectory_by_autograd_and_torch_s_adam() -> None:
    alpha = 1.5
    method = started("gradnorm", 3, alpha=alpha)
    weights = torch.ones(3, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([weights], lr=0.025)
    for rows, losses in zip(GRADIENTS, LOSSES, strict=True):
        np.testing.assert_allclose(
            checked_weights(method, step_of(rows, losses)), weights.detach().numpy(), rtol=1e-9, err_msg=str(losses)
        )
        lengths = weights * torch.from_numpy(np.linalg.norm(rows, axis=1))
        ratios = torch.from_numpy(losses / LOSSES[0])
        target = (lengths.mean() * (ratios / ratios.mean()) ** alpha).detach()
        optimizer.zero_grad()
        (lengths - target).abs().sum().backward()
        optimizer.step()
        with torch.no_grad():
            weights *= 3.0 / weights.sum()


def test_auxinash_s_direction_is_optimal_for_its_bargain() -> None:
    """The slope of Σ_i p_i log(g_i·d) is along d, which makes d the best of its length."""
    for rows in GRADIENTS:
        weights = checked_weights(started("auxinash", 3, p=0.6), step_of(rows))
        direction = torch.from_numpy(weights @ rows).requires_grad_()
        products = torch.from_numpy(rows) @ direction
        assert products.min() > 0.0
        (torch.tensor([0.6, 0.2, 0.2], dtype=torch.float64) @ torch.log(products)).backward()
        slope = direction.grad
        assert slope is not None
        torch.testing.assert_close(slope, direction.detach(), rtol=1e-8, atol=1e-9)


def test_multipliers_weigh_by_the_slopes_of_their_functions() -> None:
    """w is the derivative by the losses of ℓ_1 + Σ λ_j (ℓ_j − ε_j), and of its augmented form."""
    limits, rho, rate = torch.tensor([1.0, 2.0], dtype=torch.float64), 0.7, 0.3
    lagrangian = started("lagrangian", 3, threshold=(9.0, 1.0, 2.0), dual_lr=rate)
    augmented = started("augmented-lagrangian", 3, threshold=(9.0, 1.0, 2.0), rho=rho, every=1)
    plain, quadratic = torch.zeros(2, dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    for losses in LOSSES:
        at = torch.from_numpy(losses.copy()).requires_grad_()
        above = at[1:] - limits
        for method, value in (
            (lagrangian, at[0] + plain @ above),
            (augmented, at[0] + 0.5 * rho * (above + quadratic / rho).clamp(min=0.0).square().sum()),
        ):
            slopes = torch.autograd.grad(value, at, retain_graph=True)[0]
            found = checked_weights(method, step_of(np.eye(3), losses))
            np.testing.assert_allclose(found, slopes.numpy(), rtol=1e-12, atol=1e-15)
        plain = (plain + rate * above.detach()).clamp(min=0.0)
        quadratic = (quadratic + rho * above.detach()).clamp(min=0.0)
    assert plain.max() > 0.0


@pytest.mark.parametrize(("name", "settings"), [("lagrangian", {"dual_lr": 0.02}), ("augmented-lagrangian", {})])
def test_multipliers_end_at_that_of_the_solution(name: str, settings: dict[str, float]) -> None:
    """min ‖θ − (1, 0)‖² s.t. ‖θ + (1, 0)‖² ≤ 1: at the origin 2 (θ − c) + 2 λ (θ + c) = 0 has λ = 1."""
    method, point = started(name, 2, threshold=1.0, **settings), np.array([0.9, 1.5])
    centres = np.array([[1.0, 0.0], [-1.0, 0.0]])
    for _ in range(3000):
        rows = 2.0 * (point - centres)
        weights = checked_weights(method, step_of(rows, ((point - centres) ** 2).sum(axis=1)))
        point = point - 0.02 * weights @ rows
    np.testing.assert_allclose(weights, [1.0, 1.0], atol=1e-3)


def test_pmgda_s_correction_solves_its_linear_program() -> None:
    """max min_i ĝ_i·d over β on the simplex of the unit gradients and ĥ, under ĥ·d ≥ σ: our reading of the paper."""
    for rows, losses in zip(GRADIENTS, LOSSES, strict=True):
        method = started("pmgda", 3, sigma=0.8)
        step = step_of(rows, losses)
        direction = checked_weights(method, step) @ rows / np.linalg.norm(rows, axis=1).mean()
        unit = rows / np.linalg.norm(rows, axis=1)[:, None]
        at = torch.from_numpy(losses.copy()).requires_grad_()
        (1.0 - at.sum() ** 2 / 3.0 / (at @ at)).backward()
        assert at.grad is not None
        towards = at.grad.numpy() @ rows
        towards /= np.linalg.norm(towards)
        basis = np.concatenate([unit, towards[None]])
        worse = np.concatenate([-unit @ basis.T, np.ones((3, 1))], axis=1)
        best = linprog(
            [0.0] * 4 + [-1.0],
            np.concatenate([worse, [[*(-basis @ towards), 0.0]]]),
            [0.0, 0.0, 0.0, -0.8],
            [[1.0] * 4 + [0.0]],
            [1.0],
            bounds=[(0.0, None)] * 4 + [(None, None)],
            method="highs",
        )
        assert step.notes["correcting"] is True
        assert (unit @ direction).min() == pytest.approx(-best.fun, abs=1e-4)
        assert towards @ direction >= 0.8 - 1e-6


DATA = np.random.default_rng(0).standard_normal((40, 6))
TARGETS = DATA @ np.array([2.0, -1.0, 0.0, 0.0, 0.5, 0.0]) + 0.1 * np.random.default_rng(1).standard_normal(40)


class Selection(TaskProblem):
    """Least squares, and the sum of absolute values."""

    id = "selection@1"
    has_proximal_maps = True

    def objectives(self) -> tuple[str, ...]:
        return ("fit", "size")

    def start(self, streams: Streams) -> Task:
        return SelectionTask()


class SelectionTask(Task):
    def __init__(self) -> None:
        self.theta = torch.zeros(6, dtype=torch.float64, requires_grad=True)
        self.parameters = [self.theta]

    def losses(self, batch: None) -> Sequence[torch.Tensor]:
        off = torch.from_numpy(DATA) @ self.theta - torch.from_numpy(TARGETS)
        return [off.square().mean() / 2.0, self.theta.abs().sum()]

    def proximal_step(self, threshold: float) -> None:
        with torch.no_grad():
            self.theta.copy_(torch.sign(self.theta) * (self.theta.abs() - threshold).clamp(min=0.0))

    def metrics(self) -> dict[str, float]:
        return {}


def test_proximal_steps_end_at_scikit_learn_s_lasso(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._found["problems"], Selection.id, Selection)
    training = Training(optimizer="sgd", lr=0.1, steps=1500).configuration()
    group = Group([RunSpec.of(Selection(), find_method("proximal")(weight=0.2), training, 0)])
    group.run(None, 1e9)
    assert group.members[0].error is None
    (theta,) = group.workload.parameters
    wanted = Lasso(alpha=0.2, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(DATA, TARGETS).coef_
    assert (wanted == 0.0).any()
    np.testing.assert_allclose(theta.detach().numpy(), wanted, atol=1e-8)
