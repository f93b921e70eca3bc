"""Nash-MTL, FairGrad, UPGrad, DualProj, Aligned-MTL, IMTL-G, ConFIG, GradVac, GradDrop, SDMGrad, MoCo, RLW, RGW."""

import numpy as np
import pytest
import torch

from mobench.core.method import Step, checked_weights
from mobench.solvers import min_norm_point
from tests.methods.method_steps import Rows, direction_of, started, step_of, weights_of

ROWS = np.array([[1.0, 0.2, 0.0, 0.3], [-0.4, 2.0, 0.5, 0.0], [0.3, -0.6, 0.8, 0.1]])


def cosines(direction: np.ndarray) -> np.ndarray:
    return ROWS @ direction / np.linalg.norm(ROWS, axis=1) / np.linalg.norm(direction)


def test_nash_mtl_solves_its_equations_and_clips() -> None:
    alpha = weights_of("nashmtl", ROWS, max_norm=np.inf)
    np.testing.assert_allclose(ROWS @ ROWS.T @ alpha, 1.0 / alpha, rtol=1e-9)
    assert np.linalg.norm(alpha @ ROWS) == pytest.approx(np.sqrt(3))
    np.testing.assert_allclose(direction_of("nashmtl", ROWS), alpha @ ROWS / np.sqrt(3))


def test_nash_mtl_keeps_its_weights_between_solutions() -> None:
    method = started("nashmtl", 3, every=2, max_norm=np.inf)
    first = checked_weights(method, step_of(ROWS))
    kept = checked_weights(method, step_of(2.0 * ROWS))
    np.testing.assert_array_equal(kept, first)
    np.testing.assert_allclose(checked_weights(method, step_of(2.0 * ROWS)), first / 2.0)


def test_nash_mtl_is_auxinash_with_equal_powers() -> None:
    np.testing.assert_allclose(direction_of("nashmtl", ROWS), direction_of("auxinash", ROWS, p=1 / 3), rtol=1e-9)


def test_fairgrad_alpha_arrives() -> None:
    gram = ROWS @ ROWS.T
    for alpha in (0.5, 2.0, 4.0):
        weights = weights_of("fairgrad", ROWS, alpha=alpha)
        np.testing.assert_allclose(gram @ weights, weights ** (-1.0 / alpha), rtol=1e-8)


def test_upgrad_averages_and_dualproj_projects_the_mean() -> None:
    conflict = [[1.0, 0.0], [-1.0, 1.0]]
    np.testing.assert_allclose(direction_of("upgrad", conflict), [0.25, 0.75])  # ½((½, ½) + (0, 1))
    np.testing.assert_allclose(direction_of("dualproj", conflict), [0.0, 0.5])
    np.testing.assert_allclose(direction_of("dualproj", [[4.0, 0.0], [-1.0, 1.0]]), [1.0, 1.0])
    np.testing.assert_allclose(weights_of("upgrad", np.eye(3)), np.full(3, 1 / 3))


def test_aligned_mtl_makes_gradients_orthonormal_up_to_the_shortest() -> None:
    np.testing.assert_allclose(weights_of("alignedmtl", [[3.0, 0.0], [0.0, 0.5]]), [0.5 / 3.0 / 2, 0.5])
    np.testing.assert_allclose(weights_of("alignedmtl", [[3.0, 0.0], [0.0, 0.5]], scale="rmse")[0], 4.625**0.5 / 6)


def test_imtl_g_has_equal_projections_and_weights_that_sum_to_one() -> None:
    weights = weights_of("imtlg", ROWS)
    projections = cosines(weights @ ROWS)
    assert weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(projections, projections[0], rtol=1e-9)


def test_imtl_g_says_where_it_has_no_answer() -> None:
    step = step_of([[1.0, 0.0], [-1.0, 0.0]])
    assert not checked_weights(started("imtlg", 2), step).any()
    assert step.notes["unsolved"] is True


def test_config_has_equal_cosines_and_the_sum_of_projections_as_length() -> None:
    direction = direction_of("config", ROWS)
    shared = cosines(direction)
    np.testing.assert_allclose(shared, shared[0], rtol=1e-9)
    assert shared[0] > 0
    unit = direction / np.linalg.norm(direction)
    assert np.linalg.norm(direction) == pytest.approx((ROWS @ unit).sum())
    assert not direction_of("config", [[1.0, 0.0], [-2.0, 0.0]]).any()


def test_gradvac_starts_as_pcgrad_and_then_meets_its_goals() -> None:
    pair = np.array([[1.0, 0.0], [-0.6, 0.8]])
    np.testing.assert_allclose(direction_of("gradvac", pair), direction_of("pcgrad", pair))
    method = started("gradvac", 2, beta=1.0)
    checked_weights(method, step_of([[1.0, 0.0], [0.6, 0.8]]))  # the goal is now 0.6 for both
    np.testing.assert_allclose(method.goals, [[0.0, 0.6], [0.6, 0.0]])  # type: ignore[attr-defined]
    turned = checked_weights(method, step_of([[1.0, 0.0], [0.0, 1.0]]))
    # cos((1, a), (0, 1)) = 0.6 for a = 3/4, from either side
    np.testing.assert_allclose(turned, [1.75, 1.75])


def test_graddrop_keeps_one_sign_in_every_coordinate() -> None:
    rows = np.array([[1.0, -2.0, 0.0, 3.0], [-3.0, -1.0, 2.0, 3.0]])
    drawn = set()
    for seed in range(40):
        direction = started("graddrop", 2, seed).direction(step_of(rows)).numpy()
        assert direction[0] in (1.0, -3.0)
        np.testing.assert_array_equal(direction[1:], [-3.0, 2.0, 6.0])
        drawn.add(float(direction[0]))
    assert drawn == {1.0, -3.0}


def test_graddrop_keeps_a_sign_with_its_purity() -> None:
    rows = np.repeat(np.array([[1.0], [-3.0]]), 20_000, axis=1)
    direction = started("graddrop", 2).direction(step_of(rows)).numpy()
    assert (direction > 0).mean() == pytest.approx(0.25, abs=0.015)
    leaking = started("graddrop", 2, leak=1.0).direction(step_of(rows)).numpy()
    np.testing.assert_array_equal(leaking, rows.sum(axis=0))


def test_sdmgrad_stands_between_mgda_and_the_mean() -> None:
    np.testing.assert_allclose(weights_of("sdmgrad", ROWS, pull=0.0), weights_of("mgda", ROWS), atol=1e-12)
    np.testing.assert_allclose(weights_of("sdmgrad", ROWS, pull=1e6), np.full(3, 1 / 3), atol=1e-5)
    pull, mean = 0.7, ROWS.mean(axis=0)
    direction = 1.7 * direction_of("sdmgrad", ROWS, pull=pull)
    products = (ROWS + pull * mean) @ direction
    assert products.min() >= direction @ direction - 1e-12, "the shortest vector of the hull of g_i + λ g_0"


def test_moco_tracks_gradients_and_finds_mgda_on_constant_ones() -> None:
    method = started("moco", 3, beta=0.25, gamma=0.05)
    first = method.direction(step_of(ROWS)).numpy()
    assert np.linalg.norm(first) > 0
    for _ in range(2000):
        last = method.direction(step_of(ROWS)).numpy()
    np.testing.assert_allclose(last, min_norm_point(ROWS @ ROWS.T) @ ROWS, atol=1e-8)
    method.direction(step_of(2.0 * ROWS))
    np.testing.assert_allclose(method.tracked.numpy(), 1.25 * ROWS)  # type: ignore[attr-defined]


def test_random_weights_are_a_new_softmax_every_step() -> None:
    method = started("rlw", 3)
    draws = np.array([checked_weights(method, step_of(ROWS)) for _ in range(2000)])
    np.testing.assert_allclose(draws.sum(axis=1), np.ones(2000))
    np.testing.assert_allclose(draws.mean(axis=0), np.full(3, 1 / 3), atol=0.02)
    assert len(np.unique(draws[:, 0])) == 2000


class TwoHeads(Rows):
    """A shared tensor, and one for each objective."""

    def layers(self) -> dict[str, slice]:
        return {"trunk": slice(0, 2), "head 1": slice(2, 3), "head 2": slice(3, 4)}

    def layer_grams(self) -> dict[str, np.ndarray]:
        return {}


def test_rgw_leaves_the_heads_alone_and_is_rlw_on_what_is_shared() -> None:
    rows = np.array([[1.0, 2.0, 5.0, 0.0], [3.0, -1.0, 0.0, 7.0]])
    direction = started("rgw", 2).direction(Step(np.ones(2), TwoHeads(rows))).numpy()
    weights = checked_weights(started("rlw", 2), step_of(rows))
    np.testing.assert_allclose(direction, [*(weights @ rows[:, :2]), 5.0, 7.0])
    np.testing.assert_allclose(started("rgw", 2).direction(step_of(rows)).numpy(), weights @ rows)


def test_tracked_gradients_survive_bfloat16() -> None:
    rows = torch.from_numpy(ROWS).bfloat16()
    method = started("moco", 3)
    for _ in range(3):
        update = method.direction(Step(np.ones(3), _Given(rows)))
    assert update.dtype == torch.bfloat16 and method.tracked.dtype == torch.float32  # type: ignore[attr-defined]


class _Given:
    def __init__(self, rows: torch.Tensor) -> None:
        self.rows = rows

    def gram(self) -> np.ndarray:
        return (self.rows.double() @ self.rows.double().T).numpy()

    def gradients(self) -> torch.Tensor:
        return self.rows
