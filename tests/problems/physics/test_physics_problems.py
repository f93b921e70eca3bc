"""Physics-informed networks: exact derivatives, solutions that solve their equations, losses that vanish on them."""

import math

import numpy as np
import pytest
import torch

from mobench.conformance import check_problem, conforms
from mobench.core.registry import find_method, find_problem, plots
from mobench.core.spec import RunSpec
from mobench.core.streams import Streams
from mobench.problems.physics.burgers import VISCOSITY, cole_hopf
from mobench.problems.physics.kovasznay import flow_at
from mobench.problems.physics.network import Jet, TanhNetwork
from mobench.problems.physics.schroedinger import split_step
from mobench.reporting.plots import house_style
from mobench.training.loop import Group, train
from mobench.training.optimizer import Training
from mobench.training.stacked_workload import StackedWorkload

NAMES = ("burgers", "helmholtz", "kovasznay", "schroedinger")
SMALL = {"width": 8, "depth": 2, "points": 32}


def network(outputs=3):
    return TanhNetwork.drawn((-1.0, 0.0), (2.0, 1.0), outputs, 9, 3, torch.Generator().manual_seed(0), torch.float64)


def test_derivatives_are_those_of_nested_autograd():
    made = network()
    points = torch.rand(6, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    jet = made.jet(points)
    assert torch.allclose(jet.value, made(points), rtol=1e-13)
    for row, point in enumerate(points):
        for output in range(3):
            value = lambda p, output=output: made(p[None])[0, output]  # noqa: E731
            slope = torch.autograd.functional.jacobian(value, point)
            curvature = torch.autograd.functional.hessian(value, point).diagonal()
            assert torch.allclose(torch.stack([part[row, output] for part in jet.first]), slope, rtol=1e-10)
            assert torch.allclose(torch.stack([part[row, output] for part in jet.second]), curvature, rtol=1e-9)
    assert made.jet(points, second=False).second == ()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("second", [True, False])
def test_gradients_by_the_weights_are_those_of_nested_autograd(dtype, second):
    made = TanhNetwork.drawn((-1.0, 0.0), (2.0, 1.0), 1, 9, 3, torch.Generator().manual_seed(0), dtype)
    points = torch.rand(7, 2, dtype=dtype, generator=torch.Generator().manual_seed(1)).requires_grad_()

    def loss(value, first, curved):
        return (value * first[0] + first[1] ** 2 + sum(curved)).square().sum()

    jet = made.jet(points.detach(), second)
    found = torch.autograd.grad(loss(jet.value, jet.first, jet.second), made.parameters)
    value = made(points)
    slopes = torch.autograd.grad(value.sum(), points, create_graph=True)[0].split(1, dim=1)
    curves = [torch.autograd.grad(slopes[i].sum(), points, create_graph=True)[0][:, i : i + 1] for i in (0, 1)]
    wanted = torch.autograd.grad(loss(value, slopes, curves if second else ()), made.parameters)
    for one, other in zip(found, wanted, strict=True):
        assert torch.allclose(one, other, rtol=2e-4 if dtype == torch.float32 else 1e-11, atol=1e-5 * other.abs().max())


@pytest.mark.parametrize("name", NAMES)
def test_runs_that_step_together_have_the_bits_of_runs_alone(name):
    problem = find_problem(name)(width=32, depth=2, points=64)
    training = Training(optimizer="adam", lr=0.01, steps=4).configuration()
    methods = [("pcd", 0), ("ws", 0), ("graddrop", 1), ("famo", 2), ("mgda", 1)]
    specs = [RunSpec.of(problem, find_method(method)(), training, seed) for method, seed in methods]
    assert isinstance(Group(specs).workload, StackedWorkload)
    together = train(specs)
    for spec, beside in zip(specs, together, strict=True):
        (alone,) = train([spec])
        assert alone.metrics == beside.metrics and alone.history == beside.history


@pytest.mark.parametrize("name", NAMES)
def test_the_battery(name):
    findings = check_problem(find_problem(name), SMALL)
    assert conforms(findings), [finding.sentence for finding in findings if not finding.passed]


def quotients(function, x, y, h=1e-4):
    """Value and derivatives of a function of two arrays by central differences."""
    first = [(function(x + h, y) - function(x - h, y)) / (2 * h), (function(x, y + h) - function(x, y - h)) / (2 * h)]
    middle = function(x, y)
    second = [
        (function(x + h, y) - 2 * middle + function(x - h, y)) / h**2,
        (function(x, y + h) - 2 * middle + function(x, y - h)) / h**2,
    ]
    return middle, first, second


def test_the_burgers_solution_solves_the_equation_and_starts_as_a_wave():
    def at(x, t):
        return np.array([cole_hopf((float(a),), (float(b),))[0, 0] for a, b in zip(x, t, strict=True)])

    x, t = np.array([-0.6, -0.2, 0.3, 0.8, 0.45]), np.array([0.2, 0.3, 0.5, 0.9, 0.7])
    u, (u_x, u_t), (u_xx, _) = quotients(at, x, t)
    assert np.abs(u_t + u * u_x - VISCOSITY * u_xx).max() < 1e-5
    start = cole_hopf((-0.5, 0.25), (0.0,))[0]
    assert start.tolist() == pytest.approx([1.0, -math.sin(math.pi / 4)], rel=1e-12)
    assert np.abs(cole_hopf((-1.0, 1.0), (0.3, 1.0))).max() < 1e-12


def test_the_schroedinger_solution_is_the_known_pair_of_solitons_on_a_wide_line():
    times = tuple(np.linspace(0.0, math.pi / 2.0, 5))
    found = split_step(times, half_width=20.0, modes=512, steps=2000)
    x, t = np.linspace(-20.0, 20.0, 512, endpoint=False), np.array(times)[:, None]
    above = 4.0 * np.exp(0.5j * t) * (np.cosh(3 * x) + 3.0 * np.exp(4j * t) * np.cosh(x))
    exact = above / (np.cosh(4 * x) + 4.0 * np.cosh(2 * x) + 3.0 * np.cos(4 * t))
    assert np.abs(found - exact).max() < 2e-4
    masses = (np.abs(split_step(times)) ** 2).sum(1)
    assert np.ptp(masses) < 1e-9 * masses[0]


class Exact:
    """Stands for a network that has found the solution: values and difference quotients of a function."""

    def __init__(self, function):
        self.function = function

    def __call__(self, points):
        return torch.from_numpy(self.function(*points.double().numpy().T))

    def jet(self, points, second=True):
        found = quotients(self.function, *points.double().numpy().T, h=1e-3)
        value, first, curved = (torch.from_numpy(np.stack(part)) for part in ([found[0]], *found[1:]))
        return Jet(value[0], tuple(first), tuple(curved) if second else ())


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("helmholtz", lambda x, y: (np.sin(np.pi * x) * np.sin(4 * np.pi * y))[:, None]),
        ("kovasznay", flow_at),
    ],
)
def test_losses_vanish_on_the_exact_solution(name, function):
    problem = find_problem(name)()
    inside, edges = problem.start(Streams(0)).draw(torch.Generator().manual_seed(0))
    assert [float(loss) for loss in problem.losses(Exact(function), inside, edges)] == pytest.approx(
        [0.0, 0.0], abs=1e-3
    )
    x, y = np.meshgrid(*problem.grid())
    assert np.allclose(
        problem.solution(x, y).reshape(-1, problem.solution(x, y).shape[-1]), function(x.ravel(), y.ravel())
    )


def test_conditions_of_the_schroedinger_equation_hold_for_the_pair_of_solitons():
    def solitons(x, t):
        above = 4.0 * np.exp(0.5j * t) * (np.cosh(3 * x) + 3.0 * np.exp(4j * t) * np.cosh(x))
        h = above / (np.cosh(4 * x) + 4.0 * np.cosh(2 * x) + 3.0 * np.cos(4 * t))
        return np.stack([h.real, h.imag], axis=-1)

    problem = find_problem("schroedinger")()
    inside, edges = problem.start(Streams(0)).draw(torch.Generator().manual_seed(0))
    residual, boundary, initial = (float(loss) for loss in problem.losses(Exact(solitons), inside, edges))
    assert residual < 1e-5 and initial < 1e-12
    assert 0.0 < boundary < 0.02, "on the line the slopes at −5 and 5 are small, with opposite signs"


def trained(name, steps, **settings):
    training = Training(optimizer="adam", lr=0.02, schedule="cosine", steps=steps).configuration()
    return train([RunSpec.of(find_problem(name)(**settings), find_method("ws")(weight=0.9), training, 0)])[0]


def test_training_approaches_the_solution_and_keeps_its_picture():
    before, after = (trained("kovasznay", steps, width=16, depth=2, points=64) for steps in (1, 400))
    assert after.metrics["solution_error"] < 0.65 * before.metrics["solution_error"]
    problem = find_problem("kovasznay")()
    true, found = problem.picture(), np.array(after.history["picture"][-1])
    assert found.shape == true.values.shape == (41, 41)
    velocity = np.linalg.norm(found - true.values) / np.linalg.norm(true.values)
    assert velocity < 0.65, "the picture is the solution that was found"
    assert after.history["picture"][:-1] == [None] * (len(after.history["step"]) - 1)


def test_solutions_are_drawn_for_the_selected_configuration(tmp_path):
    from mobench.cli import main
    from mobench.planning.suite import load_suite
    from mobench.scoring.results import SuiteResults
    from mobench.store.folder import Store
    from mobench.store.stored_runs import HeldRuns

    suite = tmp_path / "waves.yaml"
    suite.write_text(
        "title: t\nproblems: {helmholtz@1: {width: 6, depth: 1, points: 16}}\n"
        "methods: {ws: {weight: [0.2, 0.8]}, mgda: {}}\n"
        "training: {optimizer: adam, lr: 0.01, steps: 3}\nplots: [solutions]\n"
    )
    assert main(["run", f"suite={suite}", f"results={tmp_path / 'out'}", "jobs=1"]) == 0
    records = list(Store(tmp_path / "out").records())
    found = SuiteResults.read(load_suite(str(suite)), HeldRuns(records))
    plot = plots()["solutions"]()
    frame = plot.data(found)
    assert frame.groupby("contender", sort=False).size().to_dict() == {"": 41 * 41, "ws": 41 * 41, "mgda": 41 * 41}
    best = min(
        (record for record in records if record.spec.method.startswith("ws")),
        key=lambda record: record.outcome.metrics["validation_loss"],
    )
    drawn = frame[frame["contender"] == "ws"]["value"].to_numpy()
    assert np.array_equal(drawn, np.array(best.outcome.history["picture"][-1]).ravel())
    assert frame[frame["contender"] == ""]["error"].max() == 0.0
    with house_style():
        figure = plot.draw(frame, found.metrics)
    titles = [axis.get_title(loc="left") for axis in figure.axes]
    validated = found.done.groupby(["contender", "configuration"])["validation_loss"].mean().groupby("contender").min()
    shown = [title for name in validated.sort_values().index for title in (name, "error")]
    assert [title for title in titles if title] == ["true solution", *shown], "the best first"
    (scale,) = figure.axes[1].child_axes
    assert scale.get_title().startswith("log10 of error") and not figure.axes[1].images, "in the free place"
