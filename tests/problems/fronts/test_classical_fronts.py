"""ZDT, DTLZ and RE: pymoo's values, exact gradients, fronts that nothing dominates, references that repeat."""

import numpy as np
import pytest
import torch
from pymoo.problems import get_problem

from mobench.core.registry import find_method, find_problem, problems
from mobench.core.spec import RunSpec
from mobench.core.streams import Streams
from mobench.errors import UserError
from mobench.problems.fronts.box import SMALLEST, BoxProblem
from mobench.problems.fronts.references import ALGORITHMS, BUDGETS, stored_volumes, volumes_of
from mobench.training.loop import train
from mobench.training.optimizer import Training

KINDS = {kind.label(): kind for kind in problems().values() if issubclass(kind, BoxProblem)}
KNOWN = [name for name, kind in KINDS.items() if kind.pymoo]


def batched(problem, count):
    constants = problem.constants(Streams(0))
    return {name: value.expand(count, *value.shape) for name, value in constants.items()}


def inside(problem, count, seed=0):
    low, high = problem.box()
    return torch.from_numpy(np.random.default_rng(seed).uniform(low, high, size=(count, len(low))))


def test_the_collection_is_there():
    assert sorted(KINDS) == sorted(
        [*(f"zdt{i}" for i in (1, 2, 3, 4, 6)), *(f"dtlz{i}" for i in range(1, 8)), "re21", "re37"]
    )


@pytest.mark.parametrize("name", KNOWN)
def test_values_and_box_are_those_of_pymoo(name):
    problem = KINDS[name]()
    theirs = get_problem(name)
    low, high = problem.box()
    assert np.array_equal(theirs.xl, low) and np.array_equal(theirs.xu, high)
    x = inside(problem, 50)
    assert np.allclose(problem.evaluate(x, theirs.n_obj).numpy(), theirs.evaluate(x.numpy()), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("name", [name for name in KNOWN if name.startswith("dtlz")])
def test_any_number_of_objectives(name, k):
    problem = KINDS[name](k=k, dimension=9)
    x = inside(problem, 20)
    theirs = get_problem(name, n_var=9, n_obj=k).evaluate(x.numpy())
    assert np.allclose(problem.evaluate(x, k).numpy(), theirs, rtol=1e-12, atol=1e-12)


def test_fewer_parameters_than_objectives_are_refused():
    with pytest.raises(UserError, match=r"dtlz2.dimension=3 is not accepted with k=4"):
        KINDS["dtlz2"](k=4, dimension=3)


@pytest.mark.parametrize("name", KINDS)
def test_gradients_meet_difference_quotients_in_every_coordinate(name):
    problem = KINDS[name]()
    low, high = (torch.from_numpy(side) for side in problem.box())
    x = low + (high - low) * (0.1 + 0.8 * torch.rand(3, len(low), generator=torch.Generator().manual_seed(1)))
    constants = batched(problem, 3)
    found = problem.gradients(x, constants, 0)
    for i in range(len(low)):
        h = torch.zeros_like(x)
        h[:, i] = 1e-6
        quotient = (problem.values(x + h, constants, 0) - problem.values(x - h, constants, 0)) / 2e-6
        scale = 1.0 + found.abs().amax(dim=(1, 2))[:, None]
        assert ((quotient - found[:, :, i]).abs() / scale).max() < 1e-6


def test_a_coordinate_leaves_the_gradients_only_where_all_objectives_push_it_out():
    problem = KINDS["zdt1"](dimension=3)
    constants = batched(problem, 1)
    at_the_faces = torch.tensor([[1.0, SMALLEST, 0.5]], dtype=torch.float64)
    gradients = problem.gradients(at_the_faces, constants, 0)[0]
    assert gradients[:, 1].tolist() == [0.0, 0.0], "f2 pushes x2 below zero, f1 does not see it"
    assert gradients[0, 0] == 1.0 and gradients[1, 0] < 0.0, "x1 is drawn into the box by f1, and out of it by f2"
    assert gradients[1, 2] > 0.0


def test_the_smallest_number_stands_for_zero_so_that_roots_have_a_slope():
    for name in ("zdt1", "zdt6", "dtlz6"):
        problem = KINDS[name]()
        low = problem.constants(Streams(0))["low"][None]
        assert torch.isfinite(problem.gradients(low, batched(problem, 1), 0)).all()


@pytest.mark.parametrize("name", KINDS)
def test_nothing_dominates_the_front_and_the_front_is_reached(name):
    problem = KINDS[name]()
    front = problem.pareto_front(0)
    if front is None:
        assert name == "re37"
        return
    bounds = problem.hypervolume_bounds()
    assert (front >= np.array(bounds.ideal)).all() and (front <= np.array(bounds.reference)).all()
    k = len(problem.objectives())
    x = inside(problem, 4000).numpy()
    best = {"zdt4": 0.0, "re21": None}.get(name, 0.5 if name in ("dtlz1", "dtlz2", "dtlz3", "dtlz4", "dtlz5") else 0.0)
    if best is not None:
        x[2000:, (k - 1 if name.startswith("dtlz") else 1) :] = best
    values = problem.evaluate(torch.from_numpy(x), k).numpy()
    rounding = 1e-7 * np.ptp(front, axis=0)
    assert not (values[:, None] < front[None] - rounding).all(-1).any()
    if best is not None:
        nearest = np.abs((values[2000:, None] - front[None]) / np.ptp(front, axis=0)).max(-1).min(1)
        assert np.quantile(nearest, 0.1) < 0.06, "points at distance zero lie on the stated front"


def test_fronts_agree_with_those_of_pymoo():
    for name in ("zdt1", "zdt2", "zdt3", "zdt4", "zdt6", "dtlz1", "dtlz2"):
        ours, theirs = KINDS[name]().pareto_front(0), get_problem(name).pareto_front()
        apart = np.abs(theirs[:, None] - ours[None]).max(-1).min(1)
        assert apart.max() < 0.06, name


@pytest.mark.parametrize(
    ("name", "point", "values"),
    [
        ("re21", (1.5, 2.0, 1.6, 2.5), (1918.6676377627084, 0.017797799427400597)),
        ("re21", (3.0, 1.5, 2.9, 1.1), (2184.851796030456, 0.0339514686982427)),
        ("re37", (0.1, 0.7, 0.3, 0.9), (0.2250574, 0.601356, 0.969025)),
        ("re37", (0.8, 0.2, 0.6, 0.4), (0.741368, 0.284372, 0.52344)),
    ],
)
def test_engineering_problems_have_the_values_of_their_collection(name, point, values):
    """As jMetalPy 1.9 evaluates them; pymoo has neither."""
    ours = KINDS[name]().evaluate(torch.tensor([point], dtype=torch.float64), len(values))
    assert ours[0].tolist() == pytest.approx(values, rel=1e-12)


def test_the_injector_has_the_ideal_point_of_its_collection():
    problem = KINDS["re37"]()
    corners = torch.tensor([[0.0, 1.0, 0.59133409, 1.0], [0.92, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0]])
    ideal = problem.evaluate(corners.double(), 3).diagonal().tolist()
    assert ideal == pytest.approx([0.00889341391106, 0.00488, -0.4315], abs=1e-8)


def test_runs_stay_in_the_box_and_weighted_sum_reaches_the_convex_front():
    training = Training(optimizer="adam", lr=0.02, schedule="cosine", steps=400).configuration()
    specs = [RunSpec.of(KINDS["zdt1"](), find_method("ws")(weight=w), training, 0) for w in (0.3, 0.5)]
    for weight, outcome in zip((0.3, 0.5), train(specs), strict=True):
        # (1 − λ) f1 + λ (1 − √f1) has its minimum at √f1 = λ / (2 (1 − λ))
        root = weight / (2.0 * (1.0 - weight))
        assert outcome.metrics["loss/f1"] == pytest.approx(root**2, abs=1e-3)
        assert outcome.metrics["loss/f2"] == pytest.approx(1.0 - root, abs=2e-3)


def test_a_stored_reference_repeats_itself():
    problem = KINDS["dtlz2"]()
    stored = stored_volumes(problem, BUDGETS[1])
    assert list(stored) == [f"{name}, {BUDGETS[1]:,} evaluations" for name in ALGORITHMS]
    again = [volumes_of(problem, "NSGA-II", seed, BUDGETS[:2])[1] for seed in (1, 2, 3)]
    assert stored[f"NSGA-II, {BUDGETS[1]:,} evaluations"] == pytest.approx(np.mean(again), abs=1e-6)
    assert stored_volumes(problem, BUDGETS[0] - 1) == {}


def test_every_problem_has_references():
    for kind in KINDS.values():
        volumes = find_problem(kind.id)().reference_volumes(10**6)
        assert len(volumes) == len(ALGORITHMS) and all(0.0 <= volume <= 1.0 for volume in volumes.values())


def test_gradients_that_all_but_vanish_leave_aligned_mtl_finite():
    problem = KINDS["dtlz4"]()
    constants = batched(problem, 1)
    rows = problem.gradients(problem.initial(problem.constants(Streams(0)), Streams(0))[None], constants, 0)[0].numpy()
    lengths = np.linalg.norm(rows, axis=1)
    assert 0.0 < lengths.min() < 1e-30 * lengths.max(), "the hundredth power of a small number"
    training = Training(optimizer="sgd", lr=0.01, steps=2).configuration()
    assert train([RunSpec.of(problem, find_method("alignedmtl")(), training, 0)])[0].status == "done"
