"""What docs/relatives.md says of PCD's relatives: which programs are one, and where they part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from quadprog import solve_qp

from mobench.core.method import Matrix, Vector, checked_weights
from mobench.solvers import min_norm_point
from tests.methods.method_steps import direction_of, started, step_of, weights_of

TAUS = (0.0, 0.02, 0.3, 1.0)


def cases(k: int, count: int, n: int = 6) -> list[Matrix]:
    rng = np.random.default_rng([k, count])
    return [rng.standard_normal((k, n)) * 10.0 ** rng.uniform(-2.0, 2.0, (k, 1)) for _ in range(count)]


def nearest(target: Vector, rows: Matrix, demands: Vector) -> Vector:
    """Return argmin ½‖d − target‖² s.t. rows d ≥ demands, solved in Rⁿ."""
    sizes = np.linalg.norm(rows, axis=1)
    found: Vector = solve_qp(np.eye(len(target)), target, (rows / sizes[:, None]).T, demands / sizes)[0]
    return found


def far(one: Any, other: Any) -> float:
    return float(np.linalg.norm(np.asarray(one) - other) / (np.linalg.norm(other) or 1.0))


def swapped(b: float, rows: Matrix) -> Vector:
    return direction_of("dbgd", rows, b=b, barrier="secondaries")


@pytest.mark.parametrize("normalization", ["ema", "unit", "none"])
def test_with_two_objectives_pcd_is_dynamic_barrier_descent_with_the_roles_swapped(normalization: str) -> None:
    """d̃ = s_1 DBGD(b = τ s_2/s_1), also in the second step of the moving average, to 1e-14 of the terms' lengths."""
    for number, rows in enumerate(cases(2, 120)):
        tau = TAUS[number % len(TAUS)]
        method = started("pcd", 2, tau=tau, normalization=normalization, rescale="none")
        before, beta = rows[::-1], 0.999
        average = np.zeros(2)
        for count, seen in enumerate((before, rows), start=1):
            squares = (seen**2).sum(axis=1)
            average = beta * average + (1.0 - beta) * squares
            found = checked_weights(method, step_of(seen)) @ seen
            scale = {"unit": squares**-0.5, "none": np.ones(2), "ema": (average / (1.0 - beta**count) + 1e-8) ** -0.5}
            first, second = scale[normalization]
            expected = first * swapped(tau * second / first, seen)
            terms = first * np.linalg.norm(seen[0]) + np.linalg.norm(expected - first * seen[0])
            assert np.linalg.norm(found - expected) <= 1e-14 * terms
        if number < 20:
            deployed = direction_of("pcd", rows, tau=tau, normalization=normalization)
            alone = direction_of("pcd", rows, tau=tau, normalization=normalization, rescale="none")
            scaled = alone * np.linalg.norm(rows[0]) / np.linalg.norm(alone)
            assert far(deployed, scaled) <= 1e-9, "then rescaled"


def test_without_normalisation_tau_is_b() -> None:
    for rows in cases(2, 50):
        pcd = direction_of("pcd", rows, tau=0.4, normalization="none", rescale="none")
        np.testing.assert_array_equal(pcd, swapped(0.4, rows))


@pytest.mark.parametrize("barrier", ["primary", "secondaries"])
@pytest.mark.parametrize("phi", ["norm", "loss"])
def test_dbgd_is_its_program(barrier: str, phi: str) -> None:
    for k in (2, 3):
        for rows in cases(k, 25):
            losses = np.linspace(1.0, 2.0, k)
            step = step_of(rows, losses, np.full(k, 0.25))
            found = checked_weights(started("dbgd", k, barrier=barrier, phi=phi, a=0.3, b=0.7), step) @ rows
            secondaries = rows[1:].sum(axis=0)
            followed, behind = (secondaries, rows[0]) if barrier == "primary" else (rows[0], secondaries)
            above = (losses[:1] if barrier == "primary" else losses[1:]) - 0.25
            demand = 0.7 * behind @ behind
            demand = min(demand, 0.3 * above.sum()) if phi == "loss" else demand
            assert far(found, nearest(followed, behind[None], np.array([demand]))) <= 1e-9
            assert step.notes["active"] == bool(followed @ behind < demand)


def test_png_is_pcd_s_program_with_another_right_hand_side() -> None:
    for k in (2, 3, 5):
        for rows in cases(k, 25):
            secondaries = rows[1:]
            shortest = min_norm_point(secondaries @ secondaries.T) @ secondaries
            demand = 0.5 * shortest @ shortest
            found = direction_of("png", rows, e=0.0)
            assert far(found, nearest(rows[0], secondaries, np.full(k - 1, demand))) <= 1e-9
            assert (secondaries @ (0.5 * shortest) >= demand * (1.0 - 1e-9)).all(), "always feasible"
            taus = tuple(demand / (secondaries**2).sum(axis=1))
            if max(taus) <= 1.0:
                pcd = direction_of("pcd", rows, tau=taus, normalization="none", rescale="none")
                assert far(found, pcd) <= 1e-9


def test_with_two_objectives_png_is_pcd_without_normalisation() -> None:
    for rows in cases(2, 40):
        pcd = direction_of("pcd", rows, tau=0.5, normalization="none", rescale="none")
        assert far(direction_of("png", rows, e=0.0), pcd) <= 1e-12


def test_png_drops_its_demands_near_rest() -> None:
    rows = np.array([[1.0, 0.0], [-0.09, 0.0]])
    np.testing.assert_array_equal(direction_of("png", rows), rows[0])
    np.testing.assert_allclose(direction_of("png", rows, e=1e-3), 0.5 * rows[1])


def test_they_part_exactly_where_zero_is_in_the_hull_of_the_secondaries() -> None:
    """Four unit secondaries in the plane: PCD with τ > 0 has no solution there, and PNG follows the primary."""
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(200):
        angles = rng.uniform(0.0, 2.0 * np.pi, 4)
        secondaries = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        rows = np.concatenate([[[0.6, 0.8]], secondaries])
        turns = np.sort(angles)
        gaps = np.diff([*turns, turns[0] + 2.0 * np.pi])
        around = gaps.max() < np.pi - 1e-3
        if not around and gaps.max() < np.pi + 1e-3:
            continue
        inside += around
        notes = []
        for name, settings in (("pcd", {"tau": 1e-3}), ("png", {"e": 0.0})):
            step = step_of(rows)
            weights = checked_weights(started(name, 5, **settings), step)
            notes.append(step.notes["infeasible" if name == "pcd" else "free"])
            if around:
                np.testing.assert_allclose(weights @ rows, rows[0], atol=1e-12)
        assert notes == [around, around]
    assert 80 < inside < 120, "half of all draws"


def test_a_gem_is_pcd_at_zero_under_every_normalisation() -> None:
    for rows in cases(2, 40):
        first, second = rows
        product = first @ second
        agem = first if product >= 0.0 else first - product / (second @ second) * second
        for normalization in ("ema", "unit", "none"):
            found = direction_of("pcd", rows, tau=0.0, normalization=normalization, rescale="none")
            scale = np.linalg.norm(found) / np.linalg.norm(agem)
            assert far(found, scale * agem) <= 1e-12


def test_gem_s_margin_bounds_the_dual_variable() -> None:
    """GEM: v = argmin ½vᵀPv + (Mg)ᵀv, v ≥ margin, d = g + Mᵀv. Without a margin it is PCD at τ = 0, with one not."""
    apart = 0
    for rows in cases(4, 60, n=8):
        current, memory = rows[0], rows[1:] / np.linalg.norm(rows[1:], axis=1)[:, None]
        scaled = np.concatenate([rows[:1], memory])
        for margin in (0.0, 0.5):
            dual = solve_qp(memory @ memory.T, -memory @ current, np.eye(3), np.full(3, margin))[0]
            gem = current + dual @ memory
            pcd = direction_of("pcd", scaled, tau=0.0, normalization="none", rescale="none")
            assert dual.min() >= margin - 1e-9
            if margin:
                apart += far(gem, pcd) > 1e-3
            else:
                assert far(gem, pcd) <= 1e-9
        tau = direction_of("pcd", scaled, tau=0.5, normalization="none", rescale="none")
        assert (memory @ tau).min() >= 0.5 - 1e-9, "PCD's τ bounds the products themselves"
    assert apart > 50


def test_bloop_without_memory_is_the_barrier_form_where_that_is_not_clipped() -> None:
    clipped = 0
    for rows in cases(2, 40):
        for weight in (0.1, 1.0, 10.0):
            bloop = started("bloop", 2, weight=weight, rho=1.0).direction(step_of(rows)).numpy()
            barrier = weight * direction_of("dbgd", rows, b=1.0 / weight)
            if weight * rows[0] @ rows[1] <= rows[0] @ rows[0]:
                assert far(bloop, barrier) <= 1e-12
            else:
                clipped += 1
                assert far(bloop, barrier) > 1e-9
    assert clipped > 10


def test_bloop_by_hand() -> None:
    method = started("bloop", 2, weight=0.5, rho=0.25)
    np.testing.assert_allclose(method.direction(step_of([[2.0, 0.0], [1.0, 4.0]])).numpy(), [2.0, 2.0])
    # m = (2, 0) + ¼ ((0, 4) − (2, 0)) = (1.5, 1); (3, 1)·m / ‖m‖² = 5.5 / 3.25
    second = method.direction(step_of([[0.0, 4.0], [3.0, 1.0]])).numpy()
    np.testing.assert_allclose(second, [0.5 * (3.0 - 1.5 * 5.5 / 3.25), 4.0 + 0.5 * (1.0 - 5.5 / 3.25)])


def test_bloop_of_three_projects_off_all_averages_before() -> None:
    (first, rows) = cases(3, 2, n=7)
    method = started("bloop", 3, weight=(0.5, 2.0), rho=0.4)
    method.direction(step_of(first))
    averages = first + 0.4 * (rows - first)
    expected = rows[0].copy()
    for number, weight in ((1, 0.5), (2, 2.0)):
        span = averages[:number].T
        expected += weight * (rows[number] - span @ np.linalg.lstsq(span, rows[number])[0])
    assert far(method.direction(step_of(rows)).numpy(), expected) <= 1e-12


def test_the_cosine_gate_opens_for_gradients_on_the_primary_s_side() -> None:
    rows = np.array([[1.0, 0.0], [0.1, 5.0], [-0.1, 1.0], [0.0, 1.0]])
    np.testing.assert_array_equal(weights_of("cosine-gate", rows), [1.0, 1.0, 0.0, 0.0])
    for pair in cases(2, 20):
        plain = "ws" if pair[0] @ pair[1] > 0.0 else "plain"
        settings = {"form": "penalty", "weight": 1.0} if plain == "ws" else {}
        np.testing.assert_array_equal(weights_of("cosine-gate", pair), weights_of(plain, pair, **settings))


def test_imtl_l_is_uncertainty_weighting_with_the_sign_of_s_turned() -> None:
    """min Σ e^s ℓ − s has the weights e^s; UW's are ½ e^(−s). Adam does not see the factor ½ in the slope of s."""
    ours, theirs = started("uw", 3, lr=0.05), started("torchjd:IMTLL", 3, trained_lr=0.05)
    rng = np.random.default_rng(0)
    for _ in range(30):
        step = step_of(np.eye(3), rng.uniform(0.3, 3.0, 3))
        np.testing.assert_allclose(2.0 * checked_weights(ours, step), checked_weights(theirs, step), rtol=1e-5)


def test_stch_on_logarithms_with_smoothing_one_is_a_fixed_weighted_sum() -> None:
    nadir = torch.tensor([0.5, 2.0, 7.0], dtype=torch.float64)
    for seed in range(5):
        losses = torch.from_numpy(np.random.default_rng(seed).uniform(0.1, 5.0, 3)).requires_grad_()
        (3.0 * torch.logsumexp(torch.log(losses / nadir), 0)).backward()
        weights = losses.grad
        assert weights is not None
        torch.testing.assert_close(weights * nadir, (weights * nadir)[0].expand(3), rtol=1e-12, atol=0.0)
