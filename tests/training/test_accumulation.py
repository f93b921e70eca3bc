from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
import torch

import mobench
from mobench.errors import NonFiniteError, UserError
from tests.training.small_methods import (
    FixedWeights,
    InverseLosses,
    Lasso,
    UnitGradients,
    batch,
    flat_grad,
    pieces,
    small_network,
    two_losses,
)


def objectives(network: torch.nn.Module, inputs: torch.Tensor) -> list[Any]:
    return [*two_losses(network, inputs), Lasso(list(network.parameters()))]


@pytest.mark.parametrize("method", [UnitGradients, InverseLosses, FixedWeights])
@pytest.mark.parametrize("sizes", [(4, 4, 4), (1, 8, 3), (12,)])
def test_micro_batches_give_the_update_of_the_whole_batch(method, sizes) -> None:
    network, whole_network = small_network(), small_network()
    whole = mobench.MultiObjective(method(), whole_network.parameters())
    parts = mobench.MultiObjective(method(), network.parameters())
    for seed in range(3):
        expected: Any = whole.backward(objectives(whole_network, batch(seed=seed)))
        for piece in pieces(batch(seed=seed), sizes):
            parts.accumulate(objectives(network, piece), weight=len(piece))
        record: Any = parts.combine()
        np.testing.assert_allclose(record.losses, expected.losses, rtol=1e-13)
        np.testing.assert_allclose(record.weights, expected.weights, rtol=1e-13)
        torch.testing.assert_close(
            flat_grad(list(network.parameters())), flat_grad(list(whole_network.parameters())), rtol=1e-12, atol=1e-14
        )
        assert record.backward_passes == 2 * len(sizes)


def test_equal_weights_are_the_default_and_their_size_does_not_matter() -> None:
    network = small_network()
    parameters = list(network.parameters())
    objective = mobench.MultiObjective(UnitGradients(), parameters)
    results = []
    for options in ({}, {"weight": 6.0}):
        for piece in pieces(batch(), 6):
            objective.accumulate(two_losses(network, piece), **cast("Any", options))
        objective.combine()
        results.append(flat_grad(parameters))
    torch.testing.assert_close(results[0], results[1], rtol=1e-14, atol=0.0)


def test_an_open_step_must_be_combined() -> None:
    network = small_network()
    objective = mobench.MultiObjective(UnitGradients(), network.parameters())
    objective.accumulate(two_losses(network, batch()))
    for call in (
        lambda: objective.backward(two_losses(network, batch())),
        lambda: objective.gradients(two_losses(network, batch())),
        objective.state_dict,
    ):
        with pytest.raises(UserError, match=r"micro-batches are waiting; finish them with combine\(\)"):
            call()
    objective.combine()
    assert objective.backward(two_losses(network, batch())).iteration == 1


def test_a_non_finite_micro_batch_drops_the_step() -> None:
    network = small_network()
    objective = mobench.MultiObjective(UnitGradients(), network.parameters())
    objective.accumulate(two_losses(network, batch()))
    with pytest.raises(NonFiniteError, match="loss 0 of 2 is nan"):
        objective.accumulate(two_losses(network, batch() * float("nan")))
    with pytest.raises(UserError, match="there is nothing to combine"):
        objective.combine()


class Interrupted(torch.autograd.Function):
    """The identity, whose gradient fails."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, upstream):
        raise KeyboardInterrupt


@pytest.mark.parametrize("failing", [0, 1])
def test_a_micro_batch_that_fails_leaves_nothing_half_summed(failing: int) -> None:
    network = small_network()
    parameters = list(network.parameters())
    objective = mobench.MultiObjective(UnitGradients(), parameters)
    expected: Any = objective.backward(two_losses(network, batch()))
    update = flat_grad(parameters)
    objective.accumulate(two_losses(network, batch(seed=9)))
    losses = two_losses(network, batch(seed=10))
    losses[failing] = Interrupted.apply(losses[failing])
    with pytest.raises(KeyboardInterrupt):
        objective.accumulate(losses)
    with pytest.raises(UserError, match="there is nothing to combine"):
        objective.combine()
    objective.accumulate(two_losses(network, batch()))
    record: Any = objective.combine()
    assert record.losses.tolist() == expected.losses.tolist()
    assert torch.equal(flat_grad(parameters), update)


def test_a_refused_micro_batch_opens_no_step() -> None:
    network = small_network()
    objective = mobench.MultiObjective(UnitGradients(), network.parameters())
    with pytest.raises(UserError, match="losses is empty"):
        objective.accumulate([])
    with pytest.raises(UserError, match="there is nothing to combine"):
        objective.combine()
    assert objective.backward(two_losses(network, batch())).iteration == 0
