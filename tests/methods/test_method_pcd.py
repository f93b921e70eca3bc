"""PCD: closed forms, the optimality conditions, the paper's boundary cases, and every option."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import mobench
from mobench.core.method import Vector, checked_weights
from mobench.core.registry import find_method
from mobench.errors import MethodError, UserError
from tests.methods.method_steps import direction_of, repeatable, started, step_of, weights_of

RAW: dict[str, Any] = {"normalization": "none", "rescale": "none"}


def test_two_objectives_by_hand() -> None:
    gradients = [[1, 0], [-1, 1]]  # g_1·g_2 = −1, ‖g_2‖² = 2, μ = τ + ½
    np.testing.assert_allclose(weights_of("pcd", gradients, tau=0.1, **RAW), [1.0, 0.6], rtol=1e-15)


def test_sufficient_progress_leaves_the_primary_gradient_alone() -> None:
    gradients = [[2, 1], [1, 0]]  # g_1·g_2 = 2 ≥ τ‖g_2‖²
    np.testing.assert_array_equal(weights_of("pcd", gradients, tau=1.0, **RAW), [1.0, 0.0])
    # normalised, the progress is the cosine 2/√5 = 0.894
    np.testing.assert_allclose(weights_of("pcd", gradients, tau=0.89), [1.0, 0.0], rtol=1e-14)
    assert weights_of("pcd", gradients, tau=0.9)[1] > 0.0


def test_insufficient_progress_without_conflict_binds() -> None:
    gradients = [[1, 10], [1, 0]]  # g_1·g_2 = 1, but τ‖g̃_2‖² with s_2/s_1 = √101 asks for more
    weights = weights_of("pcd", gradients, tau=0.5, normalization="unit", rescale="none")
    multiplier = 0.5 - 1 / math.sqrt(101)
    np.testing.assert_allclose(weights, [1 / math.sqrt(101), multiplier], rtol=1e-14)


def test_three_objectives_by_cramers_rule() -> None:
    gradients = np.array([[-1.0, -1.0, 1.0], [1.0, 0.2, 0.0], [0.1, 2.0, 0.0]])
    tau = 0.3
    g1, g2, g3 = gradients
    demand2, demand3 = tau * g2 @ g2 - g2 @ g1, tau * g3 @ g3 - g3 @ g1
    determinant = (g2 @ g2) * (g3 @ g3) - (g2 @ g3) ** 2
    expected = [
        1.0,
        ((g3 @ g3) * demand2 - (g2 @ g3) * demand3) / determinant,
        ((g2 @ g2) * demand3 - (g2 @ g3) * demand2) / determinant,
    ]
    assert min(expected) > 0
    np.testing.assert_allclose(weights_of("pcd", gradients, tau=tau, **RAW), expected, rtol=1e-13)


@repeatable
@given(
    k=st.integers(2, 6),
    seed=st.integers(0, 10**6),
    tau=st.floats(0.0, 1.0),
    normalization=st.sampled_from(["ema", "unit", "none"]),
)
def test_optimality_conditions_hold_in_the_space_of_gradients(
    k: int, seed: int, tau: float, normalization: str
) -> None:
    rng = np.random.default_rng(seed)
    gradients = np.exp(rng.normal(size=(k, 1))) * rng.normal(size=(k, 8))
    step = step_of(gradients)
    method = started("pcd", k, tau=tau, normalization=normalization, rescale="none")
    direction = checked_weights(method, step) @ gradients
    squares = (gradients**2).sum(1)
    scales = {"ema": 1 / np.sqrt(squares + 1e-8), "unit": 1 / np.sqrt(squares), "none": np.ones(k)}[normalization]
    normalised = scales[:, None] * gradients
    multipliers = step.notes["multipliers"]
    slack = normalised[1:] @ direction - tau * (normalised[1:] ** 2).sum(1)
    size = 1.0 + np.linalg.norm(normalised, axis=1).max() ** 2
    np.testing.assert_allclose(direction, normalised[0] + multipliers @ normalised[1:], atol=1e-10 * size)
    assert (multipliers >= 0.0).all()
    assert slack.min() >= -1e-10 * size
    assert np.abs(slack * multipliers).max() <= 1e-9 * size * (1.0 + multipliers.max())
    assert step.notes["active"] == np.count_nonzero(multipliers)
    assert not step.notes["infeasible"]


@repeatable
@given(seed=st.integers(0, 10**6), k=st.integers(1, 5), tau=st.floats(0.0, 1.0))
def test_rescaled_update_has_the_primary_gradients_length(seed: int, k: int, tau: float) -> None:
    gradients = np.random.default_rng(seed).normal(size=(k, 7)) * 1e3
    direction = direction_of("pcd", gradients, tau=tau)
    assert np.linalg.norm(direction) == pytest.approx(np.linalg.norm(gradients[0]), rel=1e-9)
    unscaled = direction_of("pcd", gradients, tau=tau, rescale="none")
    np.testing.assert_allclose(direction / np.linalg.norm(direction), unscaled / np.linalg.norm(unscaled), atol=1e-9)


@pytest.mark.parametrize("cosine", [-0.99, -0.6, -0.1, 0.05])
def test_primary_progress_is_one_plus_tau_c_minus_c_squared(cosine: float) -> None:
    tau = 0.1
    first, second = np.array([1.0, 0.0]), np.array([cosine, math.sqrt(1 - cosine**2)])
    direction = direction_of("pcd", np.stack([first, second]), tau=tau, normalization="unit", rescale="none")
    assert first @ direction == pytest.approx(1 + tau * cosine - cosine**2, rel=1e-12)


def test_zero_secondaries_leave_the_primary() -> None:
    np.testing.assert_allclose(direction_of("pcd", [[3, 4], [0, 0], [0, 0]], tau=0.5), [3, 4], rtol=1e-15)


def test_zero_primary_stops_when_rescaled_and_serves_the_secondaries_otherwise() -> None:
    gradients = [[0, 0], [2, 0]]
    np.testing.assert_array_equal(direction_of("pcd", gradients, tau=0.5), [0, 0])
    served = direction_of("pcd", gradients, tau=0.5, rescale="none", epsilon_form="relative")
    np.testing.assert_allclose(served, [0.5, 0.0], rtol=1e-7)  # τ g̃_2, g̃_2 = (1, 0)


def test_multipliers_are_zero_where_a_zero_primary_halts_the_step() -> None:
    for rescale, multiplier in (("primary", 0.0), ("none", 0.5)):
        step = step_of([[0.0, 0.0], [2.0, 0.0]])
        weights = checked_weights(started("pcd", 2, tau=0.5, normalization="unit", rescale=rescale), step)
        assert step.notes["multipliers"].tolist() == [multiplier]
        assert step.notes["active"] == np.count_nonzero(weights[1:]) == (multiplier > 0.0)


@pytest.mark.parametrize("rescale", ["primary", "none"])
def test_all_gradients_zero_is_a_fixed_point(rescale: str) -> None:
    np.testing.assert_array_equal(direction_of("pcd", np.zeros((3, 2)), tau=0.5, rescale=rescale), [0, 0])


@pytest.mark.parametrize("k", [2, 3, 5])
def test_conflict_equilibrium_stops_tau_zero_and_no_other(k: int) -> None:
    gradients = np.eye(k) - 1.0 / k
    assert np.linalg.norm(direction_of("pcd", gradients, tau=0.0)) < 1e-12
    moving = direction_of("pcd", gradients, tau=0.01)
    assert np.linalg.norm(moving) == pytest.approx(np.linalg.norm(gradients[0]), rel=1e-6)
    assert (gradients[1:] @ moving > 0.0).all()


def test_rounding_is_not_stretched_to_a_step() -> None:
    # The residual of this cancellation is below what a Gram matrix holds; the secondary demands next to nothing.
    direction = direction_of("pcd", [[1.0, 0.0], [-1e-9, 0.0]], tau=1e-3, normalization="none")
    assert np.linalg.norm(direction) <= 1.0


def test_moving_average_with_bias_correction_by_hand() -> None:
    beta, epsilon, tau = 0.9, 1e-2, 0.5
    first, second = np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 0.0], [-1.0, 3.0]])
    method = started("pcd", 2, tau=tau, beta=beta, epsilon=epsilon, rescale="none")
    checked_weights(method, step_of(first))
    step = step_of(second)
    weights = checked_weights(method, step)
    squares = np.array([[4.0, 1.0], [1.0, 10.0]])
    average = beta * (1 - beta) * squares[0] + (1 - beta) * squares[1]
    s1, s2 = 1 / np.sqrt(average / (1 - beta**2) + epsilon)
    # in normalised units g̃_1·g̃_2 = −s_1 s_2 and ‖g̃_2‖² = 10 s_2²
    multiplier = tau + s1 * s2 / (10 * s2**2)
    np.testing.assert_allclose(weights, [s1, multiplier * s2], rtol=1e-13)
    np.testing.assert_allclose(step.notes["multipliers"], [multiplier], rtol=1e-13)


def test_relative_epsilon_multiplies_the_average() -> None:
    weights = weights_of("pcd", [[3, 4]], epsilon=0.44, epsilon_form="relative", rescale="none")
    np.testing.assert_allclose(weights, [1 / math.sqrt(25 * 1.44)], rtol=1e-14)
    weights = weights_of("pcd", [[3, 4]], epsilon=0.44, rescale="none")
    np.testing.assert_allclose(weights, [1 / math.sqrt(25.44)], rtol=1e-14)


@pytest.mark.parametrize("form", ["relative", "additive"])
def test_scale_invariance_over_ten_orders_is_exact_only_in_the_relative_form(form: str) -> None:
    rng = np.random.default_rng(3)
    history = rng.normal(size=(20, 3, 6))

    def last(factor: float) -> Vector:
        method = started("pcd", 3, tau=0.3, epsilon_form=form)
        for gradients in history:
            scaled = gradients * np.array([[1.0], [factor], [1.0]])
            direction = checked_weights(method, step_of(scaled)) @ scaled
        return np.asarray(direction)

    moved = max(np.linalg.norm(last(factor) - last(1.0)) for factor in (1e-4, 1e-2, 1e3, 1e6))
    assert moved <= 1e-12 if form == "relative" else moved > 1e-3


def test_one_tolerance_per_secondary() -> None:
    gradients = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    np.testing.assert_allclose(weights_of("pcd", gradients, tau=[0.1, 0.7], **RAW), [1.0, 0.1, 0.7], rtol=1e-15)


def test_number_of_tolerances_must_fit() -> None:
    with pytest.raises(UserError, match=r"pcd\.tau=\[0\.1, 0\.2\] has 2 values for 1 secondary"):
        started("pcd", 2, tau=[0.1, 0.2])


@pytest.mark.parametrize("tau", [-0.1, 1.1, [0.1, 2.0], "many", math.nan])
def test_tau_outside_its_range_is_refused(tau: object) -> None:
    with pytest.raises(UserError, match=r"pcd\.tau=.*\[0, 1\]"):
        find_method("pcd")(tau=tau)


@pytest.mark.parametrize("setting", [{"beta": 0.9}, {"epsilon": 0.0}, {"epsilon_form": "relative"}])
@pytest.mark.parametrize("normalization", ["unit", "none"])
def test_settings_of_ema_are_refused_without_it(setting: dict[str, object], normalization: str) -> None:
    (name,) = setting
    with pytest.raises(UserError, match=rf"pcd\.{name}=.* has no effect with pcd\.normalization={normalization}"):
        find_method("pcd")(normalization=normalization, **setting)


class TestInfeasible:
    gradients = ((1.0, 1.0), (0.0, 2.0), (0.0, -1.0))

    def test_default_takes_the_primary_gradient_and_counts(self) -> None:
        method = started("pcd", 3, tau=0.5)
        for taken in (1, 2):
            step = step_of(self.gradients)
            np.testing.assert_array_equal(checked_weights(method, step), [1.0, 0.0, 0.0])
            assert step.notes["infeasible"] is True
            assert method.state_dict()["infeasible_steps"] == taken

    def test_no_ascent_moves_against_no_secondary(self) -> None:
        step = step_of(self.gradients)
        method = started("pcd", 3, tau=0.5, infeasible="no-ascent")
        direction = checked_weights(method, step) @ np.array(self.gradients)
        np.testing.assert_allclose(direction, [math.sqrt(2.0), 0.0], atol=1e-12)
        assert step.notes["infeasible"] is True
        assert method.state_dict()["infeasible_steps"] == 1

    def test_four_objectives(self) -> None:
        angles = np.array([0.3, 2.5, 4.6])
        secondaries = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(3)])
        gradients = np.vstack([[1.0, 0.0, 1.0], secondaries])
        np.testing.assert_array_equal(weights_of("pcd", gradients, tau=0.1), [1.0, 0.0, 0.0, 0.0])
        scaled = direction_of("pcd", gradients, tau=0.1, infeasible="no-ascent")
        np.testing.assert_allclose(scaled, [0.0, 0.0, math.sqrt(2.0)], atol=1e-9)

    def test_reset_forgets_the_count(self) -> None:
        method = started("pcd", 3)
        checked_weights(method, step_of(self.gradients))
        method.reset(3, np.random.default_rng(0))
        assert method.state_dict()["infeasible_steps"] == 0

    def test_opposite_secondaries_are_feasible_at_tau_zero(self) -> None:
        step = step_of(self.gradients)
        checked_weights(started("pcd", 3, tau=0.0), step)
        assert step.notes["infeasible"] is False


@pytest.mark.parametrize("rescale", ["primary", "none"])
@pytest.mark.parametrize("seed", range(3))
def test_diagnostics_agree_with_the_update(seed: int, rescale: str) -> None:
    gradients = np.random.default_rng(seed).normal(size=(3, 4))
    step = step_of(gradients)
    direction = checked_weights(started("pcd", 3, tau=0.6, rescale=rescale), step) @ gradients
    primary = gradients[0]
    norm = np.linalg.norm(primary)
    assert step.notes["deviation"] == pytest.approx(np.linalg.norm(direction - primary) / norm, rel=1e-7, abs=1e-7)
    assert step.notes["alignment"] == pytest.approx(direction @ primary / norm / np.linalg.norm(direction), rel=1e-9)


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_diagnostics_of_very_short_and_very_long_gradients(size: float) -> None:
    step = step_of(size * np.array([[1.0, 2.0], [1.0, -1.0]]))
    checked_weights(started("pcd", 2, tau=0.1, **RAW), step)  # d = (1.6, 1.4), as g_1·g_2 = −1 and ‖g_2‖² = 2
    assert step.notes["alignment"] == pytest.approx(4.4 / math.sqrt(5.0 * 4.52), rel=1e-12)


def test_a_method_reset_for_another_number_of_objectives_says_so() -> None:
    with pytest.raises(MethodError, match="reset for 2 objectives and got 3"):
        checked_weights(started("pcd", 2), step_of(np.eye(3)))


@pytest.mark.parametrize("normalization", ["ema", "unit", "none"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_the_length_is_right_where_multipliers_of_many_objectives_are_not(
    normalization: str, dtype: torch.dtype
) -> None:
    rows = torch.tensor([[1.0, 0.0], [-1.0, 1e-5], [-1.0, -1e-5], [-1.0, 0.0]], dtype=dtype)
    direction = mobench.combine("pcd", rows, tau=1e-4, normalization=normalization)
    assert direction.tolist() == pytest.approx([-1.0, 0.0], abs=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("scale", [1.0, 1e-2, 1e4])
def test_opposite_secondaries_are_infeasible_in_every_type(scale: float, dtype: torch.dtype) -> None:
    second = scale * torch.tensor([0.1, 0.2, 0.3], dtype=dtype)
    rows = torch.stack([torch.tensor([1.0, 0.0, 0.0], dtype=dtype), second, -1.3 * second])
    method = started("pcd", 3, tau=0.1)
    assert mobench.combine(method, rows).tolist() == [1.0, 0.0, 0.0]
    assert method.state_dict()["infeasible_steps"] == 1


@pytest.mark.parametrize("angle", [0.1, 1e-2, 1e-3, 1e-4, 2e-5])
def test_nearly_opposite_pairs_in_float32_keep_the_primarys_length(angle: float) -> None:
    first, second = torch.randn(2, 1000, generator=torch.Generator().manual_seed(0))
    rows = torch.stack([first, -first + angle * second])
    direction = mobench.combine("pcd", rows, tau=0.0).double()
    assert float(direction.norm()) == pytest.approx(float(first.double().norm()), rel=1e-4)
    assert float(rows[1].double() @ direction) >= -1e-5 * float(rows[1].norm() * direction.norm())


def test_the_state_of_other_settings_is_refused() -> None:
    state = started("pcd", 3, tau=0.1).state_dict()
    started("pcd", 3, tau=0.1).load_state_dict(state)
    with pytest.raises(UserError, match=r"the state is that of pcd with tau=0\.1, not with tau=0\.2"):
        started("pcd", 3, tau=0.2).load_state_dict(state)
    del state["settings"]  # as written before settings were part of it
    started("pcd", 3, tau=0.2).load_state_dict(state)


def test_options_that_are_not_used_leave_the_ids_of_old_runs() -> None:
    assert {*find_method("pcd")().configuration()} == {
        "tau", "normalization", "beta", "epsilon", "epsilon_form", "rescale", "infeasible"
    }  # fmt: skip
    assert find_method("pcd")(schedule="annealed").configuration()["schedule"] == "annealed"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"schedule": "constant"}, [0.4] * 8),
        ({"schedule": "warm-up"}, [0.1, 0.2, 0.3, 0.4, 0.4, 0.4, 0.4, 0.4]),
        ({"schedule": "annealed"}, [0.4, 0.4, 0.4, 0.4, 0.4, 0.3, 0.2, 0.1]),
        ({"schedule": "annealed", "ramp": 1.0}, [0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05]),
        ({"schedule": "warm-up", "ramp": 0.25}, [0.2, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4]),
    ],
)
def test_tau_follows_its_schedule(settings: dict[str, Any], expected: list[float]) -> None:
    """Two opposite gradients: the secondary progresses by exactly τ."""
    method, seen = started("pcd", 2, tau=0.4, **settings, **RAW), []
    for iteration in range(8):
        step = step_of([[1.0, 0.0], [-1.0, 0.0]])
        step.iteration, step.total_steps = iteration, 8
        seen.append(float(-(checked_weights(method, step) @ np.array([1.0, -1.0]))))
    np.testing.assert_allclose(seen, expected, rtol=1e-14)


def test_a_schedule_needs_the_length_of_the_run() -> None:
    with pytest.raises(UserError, match=r"pcd\.schedule=warm-up needs to know how many steps"):
        mobench.combine("pcd", torch.eye(2), schedule="warm-up")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ramp": 0.2}, "pcd.ramp=0.2 has no effect with pcd.schedule=constant"),
        ({"priority": 2.0}, "pcd.priority=2 is not accepted; it takes a list, one level per secondary"),
        ({"priority": [1.0, 2.0, 3.0]}, r"pcd.priority=\[1.0, 2.0, 3.0\] has 3 values for 2 secondary objectives"),
        ({"priority": [0.0, 1.0]}, "pcd.priority="),
        ({"schedule": "warmup"}, "Did you mean 'warm-up'"),
    ],
)
def test_options_that_mean_nothing_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        started("pcd", 3, **settings)


def test_a_contradiction_costs_only_those_who_contradict() -> None:
    """Of three secondaries two are opposite: back-off keeps τ for the third, the other ways give up all three."""
    gradients = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    for infeasible, progress in (("primary", 0.0), ("no-ascent", 0.0), ("back-off", 0.2)):
        step = step_of(gradients)
        method = started("pcd", 4, tau=0.2, infeasible=infeasible, **RAW)
        direction = checked_weights(method, step) @ np.array(gradients)
        np.testing.assert_allclose(direction, [0.0, 1.0, progress], atol=1e-12)
        assert step.notes["infeasible"] and method.infeasible_steps == 1  # type: ignore[attr-defined]


def test_priorities_keep_what_a_higher_level_has_reached() -> None:
    gradients = np.array([[3.0, -4.0], [1.0, 0.0], [-1.0, 1.0]])
    for priority, expected in (([1.0, 2.0], [3.0, 4.0]), ([2.0, 1.0], [0.5, 1.5])):
        direction = direction_of("pcd", gradients, tau=0.5, priority=priority, **RAW)
        np.testing.assert_allclose(direction, expected, rtol=1e-12)
        rescaled = direction_of("pcd", gradients, tau=0.5, priority=priority, normalization="none")
        np.testing.assert_allclose(rescaled, 5.0 * np.array(expected) / np.linalg.norm(expected), rtol=1e-12)
