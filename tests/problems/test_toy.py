"""The toy of CAGrad and Nash-MTL: the papers' formulas, the kink, the known front, and who reaches it."""

import numpy as np
import pytest
import torch

from mobench.core.registry import find_problem
from mobench.core.streams import Streams
from mobench.planning.plan import make_groups, make_plans
from mobench.problems.toy import STARTS
from mobench.training.loop import train

TOY = find_problem("toy")


def positive(x: torch.Tensor) -> torch.Tensor:
    """max(x, 0) with slope 1 at 0."""
    return x * (x >= 0)


def papers_losses(x: torch.Tensor) -> torch.Tensor:
    """The two objectives as the papers write them."""
    x1, x2 = x
    f1 = torch.clamp((0.5 * (-x1 - 7) - torch.tanh(-x2)).abs(), 5e-6).log() + 6
    f2 = torch.clamp((0.5 * (-x1 + 3) - torch.tanh(-x2) + 2).abs(), 5e-6).log() + 6
    c1, c2 = positive(torch.tanh(0.5 * x2)), positive(torch.tanh(-0.5 * x2))
    q1 = ((-x1 + 7).pow(2) + 0.1 * (-x2 - 8).pow(2)) / 10 - 20
    q2 = ((-x1 - 7).pow(2) + 0.1 * (-x2 - 8).pow(2)) / 10 - 20
    return torch.stack([f1 * c1 + q1 * c2, f2 * c1 + q2 * c2])


def at(problem, points):
    theta = torch.tensor(points, dtype=torch.float64)
    constants = problem.constants(Streams(0))
    batched = {name: value.expand(len(theta), *value.shape) for name, value in constants.items()}
    return problem.values(theta, batched, 0), problem.gradients(theta, batched, 0)


VALLEY = (-7.0 + 2.0 * np.tanh(1.0), 1.0)
"""In the first objective's valley, below the cut of the logarithm."""


@pytest.mark.parametrize("point", [*STARTS.values(), VALLEY, (3.0, 1e-9), (-2.0, 4.0), (1.0, -12.0)])
@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_values_and_gradients_are_those_of_the_papers(point, scale):
    values, gradients = at(TOY(scale=scale), [point])
    x = torch.tensor(point, dtype=torch.float64)
    factors = torch.tensor([scale, 1.0], dtype=torch.float64)
    assert values[0].tolist() == pytest.approx((factors * papers_losses(x)).tolist(), rel=1e-12, abs=1e-14)
    expected = factors[:, None] * torch.autograd.functional.jacobian(papers_losses, x)
    assert gradients[0].flatten().tolist() == pytest.approx(expected.flatten().tolist(), rel=1e-12, abs=1e-14)


def test_the_origin_is_left():
    values, gradients = at(TOY(start="origin"), [STARTS["origin"]])
    assert values[0].tolist() == [0.0, 0.0]
    valley = 6.0 + np.log(3.5)
    bowl = (49.0 + 6.4) / 10.0 - 20.0
    assert gradients[0, :, 1].tolist() == pytest.approx([0.5 * (valley - bowl)] * 2, rel=1e-12)


def test_the_pareto_set_is_stationary_and_nothing_dominates_the_front():
    problem = TOY()
    optimal, front = problem.pareto_set(0), problem.pareto_front(0)
    _, gradients = at(problem, optimal)
    share = np.linspace(0.0, 1.0, len(optimal))[:, None]
    combined = share * gradients[:, 0].numpy() + (1.0 - share) * gradients[:, 1].numpy()
    assert np.abs(combined).max() < 1e-12
    assert front[0].tolist() == pytest.approx(front[-1][::-1].tolist(), rel=1e-12), "the problem is symmetric"
    rng = np.random.default_rng(0)
    around = rng.uniform((-12.0, -14.0), (12.0, 10.0), size=(20_000, 2))
    near = optimal[rng.integers(len(optimal), size=20_000)] + 0.01 * rng.normal(size=(20_000, 2))
    values = at(problem, np.concatenate([around, near]))[0].numpy()
    assert not (values[:, None] < front[None, ::20] - 1e-9).all(-1).any()


def test_distance_is_measured_from_the_line_between_the_minima():
    problem = TOY()
    middle = problem.pareto_set(0)[200]
    constants = problem.constants(Streams(0))
    found = problem.measure(torch.tensor([middle[0], middle[1] + 3.0], dtype=torch.float64), constants)
    assert found["distance_to_front"] == pytest.approx(3.0, rel=1e-6)


def test_mgda_and_weighted_sum_end_where_they_are_known_to_end():
    """The start (−7.5, −0.5) lies below the axis, where both objectives are bowls."""
    plan = make_plans(
        ["toy"],
        None,
        {
            "methods": ["mgda", "ws"],
            "methods.ws.weight": [0.25, 0.5],
            "problems.toy.start": "left",
            "problems.toy.scale": 1.0,
            "training.lr": 0.1,
            "training.steps": 1500,
        },
    )[0]
    ends = {}
    for group in make_groups(plan.specs):
        for spec, outcome in zip(group, train(group), strict=True):
            ends[spec.method.partition("@")[0], spec.method_settings.get("weight")] = outcome.metrics
    for weight in (0.25, 0.5):
        assert ends["ws", weight]["x"] == pytest.approx(7.0 * (1.0 - 2.0 * weight), abs=1e-6)
        assert ends["ws", weight]["distance_to_front"] < 1e-3
    assert ends["mgda", None]["distance_to_front"] < 0.02
