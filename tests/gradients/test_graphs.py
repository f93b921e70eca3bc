from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import mobench
from mobench.errors import UserError
from tests.training.small_methods import (
    FixedWeights,
    HalfSquare,
    UnitGradients,
    batch,
    flat_grad,
    jacobian,
    small_network,
    two_losses,
)


class Saved:
    """An activation that a graph keeps for its backward pass."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


@contextmanager
def watched() -> Iterator[weakref.WeakSet[Saved]]:
    """Yield what the graphs built inside still keep."""
    alive: weakref.WeakSet[Saved] = weakref.WeakSet()

    def keep(tensor: Tensor) -> Saved:
        saved = Saved(tensor)
        alive.add(saved)
        return saved

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda saved: saved.tensor):
        yield alive


@pytest.mark.parametrize("method", [UnitGradients, FixedWeights])
def test_separate_graphs_are_freed_as_soon_as_their_gradients_are_taken(method) -> None:
    network = small_network()
    with watched() as of_task:
        task = two_losses(network, batch())[0]
    kept_when_penalty_starts = []
    penalty = torch.stack([p.square().sum() for p in network.parameters()]).sum()
    penalty.register_hook(lambda _: kept_when_penalty_starts.append(len(of_task)))
    before = len(of_task)
    mobench.MultiObjective(method(), network.parameters()).backward([task, penalty])
    assert before > 0
    assert len(of_task) == 0, "nothing lives into the next forward pass, though `task` does"
    if method is UnitGradients:
        assert kept_when_penalty_starts == [0]


def test_micro_batches_free_their_graphs() -> None:
    network = small_network()
    objective = mobench.MultiObjective(UnitGradients(), network.parameters())
    losses = []
    with watched() as alive:
        for seed in range(3):
            losses.append([two_losses(network, batch(seed=seed))[0], network[0].weight.square().sum()])
            objective.accumulate(losses[-1])
            assert len(alive) == 0


def test_graphs_that_share_parts_in_any_order_are_all_differentiated() -> None:
    network = small_network()
    parameters = list(network.parameters())

    def losses() -> list[Any]:
        first, second = two_losses(network, batch())
        other = two_losses(network, batch(seed=4))[0]
        both = first * second
        return [first, other, HalfSquare(parameters), second, both, parameters[0].square().sum(), both + other]

    with_graph = [loss for loss in losses() if isinstance(loss, Tensor)]
    expected = jacobian(with_graph, parameters)
    record: Any = mobench.MultiObjective(UnitGradients(), parameters).backward(losses())
    gradients = torch.cat([expected[:2], torch.cat([p.detach().reshape(-1) for p in parameters])[None], expected[2:]])
    torch.testing.assert_close(flat_grad(parameters), torch.from_numpy(record.weights) @ gradients)
    assert record.backward_passes == 6


class Trunk(nn.Module):
    """Two layers, the first of which may be checkpointed."""

    def __init__(self, reentrant: bool | None, inputs_require_grad: bool) -> None:
        super().__init__()
        self.body, self.head = small_network()[0], nn.Linear(7, 2).double()
        self.reentrant, self.inputs_require_grad = reentrant, inputs_require_grad

    def forward(self, inputs: Tensor) -> Tensor:
        inputs = inputs.clone().requires_grad_(self.inputs_require_grad)
        inputs = inputs if self.inputs_require_grad else inputs * self.head.bias.sum()
        if self.reentrant is None:
            return self.head(self.body(inputs))
        return self.head(checkpoint(self.body, inputs, use_reentrant=self.reentrant))


@pytest.mark.parametrize("method", [UnitGradients, FixedWeights])
@pytest.mark.parametrize("inputs_require_grad", [True, False])
def test_checkpointing_works_or_is_refused(method, inputs_require_grad: bool) -> None:
    torch.manual_seed(0)
    network = Trunk(None, inputs_require_grad)
    parameters = list(network.parameters())
    objective = mobench.MultiObjective(method(), parameters)
    objective.backward(two_losses(network, batch()))
    expected = flat_grad(parameters)
    network.reentrant = False
    objective.backward(two_losses(network, batch()))
    torch.testing.assert_close(flat_grad(parameters), expected)
    network.reentrant = True
    with pytest.raises(UserError, match="use_reentrant=True; pass use_reentrant=False"):
        objective.backward(two_losses(network, batch()))
    assert objective.iteration == 2
