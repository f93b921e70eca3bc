"""Networks with a trunk that all tasks share and a head for each."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torchjd.aggregation as theirs
from torch import Tensor, nn
from torchjd.autojac import jac_to_grad, mtl_backward

import mobench
from mobench.core.problem import Task
from mobench.core.streams import Streams
from mobench.errors import UserError
from mobench.training.workload import TaskWorkload
from tests.training.small_methods import (
    FixedWeights,
    HalfSquare,
    InverseLosses,
    SignOfSum,
    UnitGradients,
    batch,
    flat_grad,
    jacobian,
    pieces,
)
from tests.training.test_loop import Regression


class Tasks(nn.Module):
    """Three regressions on one trunk; the last two heads share a layer of their own."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.trunk = nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 4))
        self.heads = nn.ModuleList([nn.Linear(4, 1), nn.Linear(3, 1), nn.Linear(3, 1)])
        self.between = nn.Linear(4, 3)
        self.double()
        self.features = torch.zeros(0)

    def losses(self, inputs: Tensor) -> list[Tensor]:
        self.features = self.trunk(inputs)
        first, second, third = self.heads
        middle = self.between(self.features).tanh()
        outputs = [first(self.features), 3.0 * second(middle), third(middle) - 2.0]
        return [(out[:, 0] - inputs[:, i]).square().mean() for i, out in enumerate(outputs)]

    def heads_parameters(self) -> list[nn.Parameter]:
        return [*self.heads.parameters(), *self.between.parameters()]

    def task_parameters(self) -> list[list[nn.Parameter]]:
        first, second, third = self.heads
        between = list(self.between.parameters())
        return [list(first.parameters()), [*second.parameters(), *between], [*third.parameters(), *between]]


def objective_of(method: Any, network: Tasks, **settings: Any) -> mobench.MultiObjective:
    return mobench.MultiObjective(method, network.parameters(), shared=network.trunk.parameters(), **settings)


AGGREGATORS: list[tuple[str, dict[str, Any], theirs.Aggregator, int]] = [
    ("ws", {"weight": 2.0 / 3.0}, theirs.Mean(), 3),
    ("mgda", {}, theirs.MGDA(epsilon=1e-9, max_iters=100_000), 3),
    ("pcd", {"tau": 0.1}, theirs.PCD(tau=0.1), 3),
    ("cagrad", {"c": 0.4}, theirs.CAGrad(c=0.4), 3),
    ("pcgrad", {}, theirs.PCGrad(), 2),  # of more, each library draws its own order
]


@pytest.mark.parametrize(("method", "settings", "aggregator", "k"), AGGREGATORS, ids=[a[0] for a in AGGREGATORS])
def test_it_equals_mtl_backward_of_torchjd(method: str, settings: dict[str, Any], aggregator, k: int) -> None:
    ours, network = Tasks(), Tasks()
    mtl_backward(
        network.losses(batch())[:k],
        features=network.features,
        tasks_params=network.task_parameters()[:k],
        shared_params=network.trunk.parameters(),
        retain_graph=True,
    )
    jac_to_grad(network.trunk.parameters(), aggregator)
    objective_of(method, ours, **settings).backward(ours.losses(batch())[:k])
    expected, found = flat_grad(list(network.parameters())), flat_grad(list(ours.parameters()))
    n = sum(p.numel() for p in network.trunk.parameters())
    torch.testing.assert_close(found[:n], expected[:n], rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(found[n:], expected[n:], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("method", [UnitGradients, InverseLosses, FixedWeights, SignOfSum])
@pytest.mark.parametrize("way", ["backward", "accumulate", "gradients", "scaler"])
def test_the_method_combines_the_shared_gradients_and_heads_keep_their_own(method, way: str) -> None:
    network = Tasks()
    shared, heads = list(network.trunk.parameters()), network.heads_parameters()
    losses = network.losses(batch())
    rows, own = jacobian(losses, shared), jacobian(losses, heads).sum(dim=0)
    weights = {
        "unitgradients": 1.0 / rows.norm(dim=1),
        "inverselosses": torch.stack(losses).detach().reciprocal(),
        "fixedweights": torch.ones(3, dtype=torch.float64),
    }.get(method.name)
    expected = rows.sum(dim=0).sign() if weights is None else weights @ rows
    objective = objective_of(method(), network)
    scale = 1.0
    if way == "backward":
        objective.backward(network.losses(batch()))
    elif way == "accumulate":
        for piece in pieces(batch(), 4):
            objective.accumulate(network.losses(piece))
        objective.combine()
    elif way == "gradients":
        dense = objective.gradients(network.losses(batch()))
        assert dense.shape == (3, sum(p.numel() for p in network.parameters()))
        objective.backward([float(loss.detach()) for loss in losses], gradients=dense)
    else:
        scale = 8.0
        objective.backward(network.losses(batch()), scaler=torch.amp.GradScaler("cpu", init_scale=scale))
    torch.testing.assert_close(flat_grad(shared), scale * expected)
    torch.testing.assert_close(flat_grad(heads), scale * own)


def test_a_closed_form_counts_in_full_outside_the_shared_parameters() -> None:
    network = Tasks()
    parameters, heads = list(network.parameters()), network.heads_parameters()
    own = jacobian(network.losses(batch())[:1], heads)[0] + torch.cat([p.detach().reshape(-1) for p in heads])
    objective = objective_of(FixedWeights(values=[0.5, 7.0]), network)
    objective.backward([network.losses(batch())[0], HalfSquare(parameters)])
    torch.testing.assert_close(flat_grad(heads), own)


def test_frozen_heads_do_not_matter() -> None:
    network = Tasks()
    for parameter in network.heads_parameters():
        parameter.requires_grad_(False)
    objective = objective_of("ws", network)
    record = objective.backward(network.losses(batch()))
    assert record.backward_passes == 1
    assert all(parameter.grad is None for parameter in network.heads_parameters())


@pytest.mark.parametrize("method", [UnitGradients, FixedWeights, SignOfSum])
def test_features_stand_in_for_the_shared_parameters(method) -> None:
    network = Tasks()
    shared, heads = list(network.trunk.parameters()), network.heads_parameters()
    losses = network.losses(batch())
    in_features = jacobian(losses, [network.features])
    own = jacobian(losses, heads).sum(dim=0)
    combined = {
        "unitgradients": (in_features / in_features.norm(dim=1, keepdim=True)).sum(dim=0),
        "fixedweights": in_features.sum(dim=0),
        "signofsum": in_features.sum(dim=0).sign(),
    }[method.name]
    expected = torch.autograd.grad(network.features, shared, combined.view_as(network.features))
    losses = network.losses(batch())
    record = objective_of(method(), network).backward(losses, features=network.features)
    torch.testing.assert_close(flat_grad(shared), torch.cat([block.reshape(-1) for block in expected]))
    torch.testing.assert_close(flat_grad(heads), own)
    assert record.backward_passes == {"unitgradients": 4, "fixedweights": 3, "signofsum": 4}[method.name]
    assert network.features.grad is None


def test_one_pass_goes_through_the_trunk_whatever_the_number_of_losses() -> None:
    network = Tasks()
    passes = []
    network.trunk[0].register_forward_hook(lambda *given: given[2].register_hook(passes.append) and None)
    losses = network.losses(batch())
    objective_of(UnitGradients(), network).backward(losses, features=network.features)
    assert len(passes) == 1


def test_mistakes_are_refused() -> None:
    network = Tasks()
    stranger = torch.ones(2, requires_grad=True)
    with pytest.raises(UserError, match=r"shared\[1\] is not among the parameters"):
        mobench.MultiObjective("ws", network.parameters(), shared=[network.between.weight, stranger])
    with pytest.raises(UserError, match="shared is empty"):
        mobench.MultiObjective("ws", network.parameters(), shared=[])
    with pytest.raises(UserError, match="shared is a Sequential"):
        mobench.MultiObjective("ws", network.parameters(), shared=network.trunk)  # type: ignore[arg-type]
    objective = objective_of(UnitGradients(), network)
    losses = network.losses(batch())
    penalty = network.trunk[0].weight.square().sum()
    with pytest.raises(UserError, match="without passing through the features"):
        objective.backward([*losses, penalty], features=network.features)
    with pytest.raises(UserError, match="closed form does not depend on the features"):
        objective.backward([*losses, HalfSquare(list(network.parameters()))], features=network.features)
    with pytest.raises(UserError, match=r"features\[0\] is no tensor that was computed"):
        objective.backward(losses, features=network.features.detach())
    with pytest.raises(UserError, match="features= or gradients=, not both"):
        objective.backward(gradients=torch.zeros(3, 2), features=network.features)
    with pytest.raises(UserError, match="features= needs MultiObjective"):
        mobench.MultiObjective("ws", network.parameters()).backward(losses, features=network.features)


def test_a_problem_can_say_which_parameters_are_shared() -> None:
    class SharedTask(Task):
        def __init__(self) -> None:
            self.network = Tasks()
            self.parameters = list(self.network.parameters())
            self.shared_parameters = list(self.network.trunk.parameters())

        def losses(self, batch_: Any) -> list[Tensor]:
            return self.network.losses(batch())[:2]

        def metrics(self) -> dict[str, float]:
            return {}

    task = SharedTask()
    workload = TaskWorkload(Regression(), task, Streams(0).seed)
    workload.begin(0)
    losses = task.losses(None)
    rows = jacobian(losses, list(task.shared_parameters))
    torch.testing.assert_close(torch.from_numpy(workload.gradients_of(0).gram()), rows @ rows.T)
    workload.gradients_of(0).apply([0.25, 4.0])  # type: ignore[arg-type]
    heads = task.network.heads_parameters()
    torch.testing.assert_close(flat_grad(heads), jacobian(losses, heads).sum(dim=0))
    torch.testing.assert_close(flat_grad(list(task.shared_parameters)), 0.25 * rows[0] + 4.0 * rows[1])
