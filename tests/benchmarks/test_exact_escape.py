"""Who crosses the barrier from the paper's start, in exact arithmetic and in the suite's own."""

import pytest
from mpmath import mp, mpf

from benchmarks.exact_escape import Setting, axes, crossing, exact_path, float_paths, suite_basis

ONE_RUN = {"problems.double-well.spread": 0.0, "methods.pcd.tau": 0.3, "seeds": 1}


def test_the_deployed_update_converges_to_the_top_of_the_barrier():
    two = exact_path(axes(2), Setting(tau="0.01"), 500)
    assert crossing(two) is None and float(two[500][0]) == pytest.approx(-2.859e-49, rel=1e-3)
    assert abs(two[500][0] / two[499][0] - mpf("0.8")) < mpf("1e-50"), "s ← (1 − 4η) s"
    several = exact_path(axes(4), Setting(tau="1"), 100)
    assert all(abs(s - two[100][0]) < mpf("1e-50") for s in several[100]), "neither K nor τ matters"


@pytest.mark.parametrize(
    ("setting", "step"),
    [
        (Setting(rate="0.24"), None),
        (Setting(rate="0.26"), 3),
        (Setting(optimizer="heavy-ball"), 4),
        (Setting(optimizer="adam"), 13),
        (Setting(optimizer="adam", rate="0.01"), 94),
        (Setting(tau="0.1", rescale=False), 135),
    ],
)
def test_other_steps_cross(setting, step):
    assert crossing(exact_path(axes(2), setting, 140)) == step


def test_a_part_outside_of_the_line_far_below_rounding_is_enough():
    assert crossing(exact_path(axes(2, "1e-17"), Setting(), 250)) == 193


@pytest.mark.parametrize(
    ("training", "optimizer"),
    [({}, "sgd"), ({"training.optimizer.momentum": 0.9}, "heavy-ball"), ({"training.optimizer": "adam"}, "adam")],
)
def test_the_suite_takes_the_same_steps_until_rounding_matters(training, optimizer):
    (rounded,) = float_paths({**ONE_RUN, "problems.double-well.k": 3, **training}, 25).values()
    exact = exact_path(suite_basis(3, 0), Setting(optimizer=optimizer), 25)
    pairs = [pair for points in zip(rounded, exact, strict=True) for pair in zip(*points, strict=True)]
    assert len(pairs) == 52 and max(abs(one - other) for one, other in pairs) < 1e-12


def test_the_suites_basis_is_orthonormal_to_sixty_digits():
    rows, _ = suite_basis(4, 1)
    products = [[mp.fdot(one, other) for other in rows] for one in rows]
    assert all(abs(value - (i == j)) < mpf("1e-58") for i, row in enumerate(products) for j, value in enumerate(row))
