import math

import numpy as np
import pytest
import torch

from mobench.core.registry import find_problem
from mobench.core.spec import RunSpec
from mobench.core.streams import Streams
from mobench.planning.plan import make_groups, make_plans
from mobench.training.loop import train


def run(suite, **overrides):
    """Train a suite with dotted overrides; return pairs of spec and outcome."""
    plan = make_plans([suite], None, overrides)[0]
    return [pair for group in make_groups(plan.specs) for pair in zip(group, train(group), strict=True)]


@pytest.mark.parametrize("k", [2, 3, 7])
def test_the_start_of_the_double_well_is_a_conflict_equilibrium(k):
    problem = find_problem("double-well")(k=k)
    constants = problem.constants(Streams(0))
    theta = problem.initial(constants, Streams(0))[None]
    batched = {name: value[None] for name, value in constants.items()}
    gradients = problem.gradients(theta, batched, 0)[0]
    assert float(gradients.sum(0).norm()) < 1e-14
    assert float(gradients[0].norm()) == pytest.approx(1.536 * math.sqrt(k - 1), rel=1e-14)
    assert float(problem.values(theta, batched, 0)[0, 0]) == pytest.approx(0.4096 * (k - 1), rel=1e-14)


def test_pinned_methods_stay_at_the_equilibrium():
    for spec, outcome in run("escape", methods=["mgda", "cagrad"], seeds=1, **{"problems.double-well.spread": 0.0}):
        law = 1.536 * math.sqrt(spec.problem_settings["k"] - 1)
        assert outcome.metrics["primary_gradient_norm"] == pytest.approx(law, rel=1e-6)


def test_pcd_crosses_every_barrier_for_every_k_from_the_papers_start_and_beside_it():
    found = run("escape", methods=["pcd"], seeds=1, **{"methods.pcd.tau": [0.01, 0.3, 1.0]})
    assert {spec.problem_settings["spread"] for spec, _ in found} == {0.0, 0.1}
    for spec, outcome in found:
        barriers = spec.problem_settings["k"] - 1  # at the top of a barrier the gradient vanishes too
        assert (outcome.metrics["barriers_crossed"], outcome.metrics["barriers_left"]) == (barriers, 0)
        assert outcome.metrics["primary_gradient_norm"] <= 1e-10
        if spec.problem_settings["spread"] == 0.0:
            assert outcome.metrics["primary_gradient_norm"] <= 1e-14
            assert outcome.metrics["loss/wells"] <= 1e-29


def test_at_the_top_of_a_barrier_the_gradient_vanishes_and_nothing_is_crossed():
    problem = find_problem("double-well")(k=4, start=0.0)
    constants = problem.constants(Streams(0))
    theta = problem.initial(constants, Streams(0))
    gradients = problem.gradients(theta[None], {name: value[None] for name, value in constants.items()}, 0)
    assert float(gradients[0, 0].norm()) <= 1e-15
    assert problem.measure(theta, constants) == {"barriers_crossed": 0, "barriers_left": 3, "distance_to_optimum": 1}


ENDS = {
    "pcd": {"upper": 2.0, "outer": 2.0, "lower": 2.0},
    "ws": {"upper": -1.8608, "outer": -1.8608, "lower": -1.8608},
    "cagrad": {"upper": -1.8608, "outer": -1.8608, "lower": -1.8608},
    "mgda": {"upper": -1.943, "outer": -1.951, "lower": -1.585},
    "pcgrad": {"upper": -1.963, "outer": -1.980, "lower": -1.729},
    "famo": {"upper": -2.0, "outer": -2.0, "lower": -2.0},
}


def test_the_plane_ends_where_it_is_known_to_end():
    for spec, outcome in run("plane", methods=list(ENDS)):
        expected = ENDS[spec.method.partition("@")[0]][spec.problem_settings["start"]]
        assert outcome.metrics["x"] == pytest.approx(expected, abs=1e-3)


def test_farkas_margins_and_feasibility():
    expected = {2: 1.0, 3: 0.705, 4: 0.572, 5: 0.491, 6: 0.434, 7: 0.392, 8: 0.358}
    found: dict[int, list[float]] = {}
    for spec, outcome in run("feasibility", **{"methods.pcd.tau": 0.3}):
        assert outcome.diagnostics["infeasible"]["total"] == 0
        found.setdefault(spec.problem_settings["k"], []).append(outcome.metrics["farkas_margin"])
    assert {k: pytest.approx(np.mean(values), abs=0.02) for k, values in found.items()} == expected


def test_the_relative_normalisation_does_not_see_the_scale_and_weighted_sum_does():
    ends: dict[str, list[float]] = {"pcd@1": [], "ws@1": []}
    overrides = {"methods.pcd.epsilon_form": "relative", "problems.quadratic.scale": [1e-4, 1.0, 1e6]}
    for spec, outcome in run("scale-invariance", methods=["pcd", "ws"], seeds=1, **overrides):
        ends[spec.method].append(outcome.metrics["secondary"])
    assert np.ptp(ends["pcd@1"]) <= 1e-9
    assert np.ptp(ends["ws@1"]) > 5.0


@pytest.mark.parametrize("secondary", ["l1", "quadratic"])
def test_the_front_of_the_quadratic_is_optimal(secondary):
    problem = find_problem("quadratic")(secondary=secondary)
    constants = {name: value[None] for name, value in problem.constants(Streams(1)).items()}
    front = problem.pareto_front(1)
    ideal, reference = problem.hypervolume_bounds().ideal, problem.hypervolume_bounds().reference
    assert (front >= np.array(ideal) - 1e-9).all() and (front <= np.array(reference) + 1e-9).all()
    order = front[np.argsort(front[:, 0])]
    assert (np.diff(order[:, 1]) <= 1e-12).all(), "along the front one objective falls while the other grows"
    points = torch.randn(2000, 50, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 0.3
    repeated = {name: value.expand(2000, *value.shape[1:]) for name, value in constants.items()}
    values = problem.values(points, repeated, 0).numpy()
    dominates = (values[:, None, :] < front[None] - 1e-9).all(-1)
    assert not dominates.any()


def test_the_quadratics_lower_bound_is_its_minimum():
    problem = find_problem("quadratic")()
    assert problem.lower_bounds(3)[0] == pytest.approx(problem.pareto_front(3)[:, 0].min())


def test_runs_of_one_family_share_a_batch_and_different_sizes_do_not():
    double_well = find_problem("double-well")
    assert double_well(k=3, spread=0.0).batch_key() == double_well(k=3, spread=0.1).batch_key()
    assert double_well(k=3).batch_key() != double_well(k=4).batch_key()
    assert double_well(k=3, dimension=10).batch_key() != double_well(k=3).batch_key()


def test_specs_of_the_suites_rebuild_their_objects():
    spec = make_plans(["plane"], None, {})[0].specs[0]
    assert RunSpec.of(spec.build_problem(), spec.build_method(), spec.training, spec.seed).id == spec.id
