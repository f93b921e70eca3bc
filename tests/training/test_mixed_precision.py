from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch.amp import GradScaler

import mobench
from tests.training.small_methods import (
    CountingLosses,
    FixedWeights,
    HalfSquare,
    InverseLosses,
    Remembering,
    SignOfSum,
    UnitGradients,
    batch,
    flat_grad,
    pieces,
    small_network,
    two_losses,
)


def scaler_of(scale: float = 1024.0, **options) -> GradScaler:
    return GradScaler(device="cpu", init_scale=scale, **options)


def losses_of(network: torch.nn.Module) -> list[Any]:
    inputs = batch(torch.float32)
    return [*two_losses(network, inputs), HalfSquare(list(network.parameters()))]


@pytest.mark.parametrize("method", [UnitGradients, InverseLosses, FixedWeights, SignOfSum, Remembering])
def test_a_scaler_changes_nothing_but_the_scale_of_grad(method) -> None:
    network, plain_network = small_network(torch.float32), small_network(torch.float32)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    plain_optimizer = torch.optim.SGD(plain_network.parameters(), lr=0.1)
    objective, plain = mobench.MultiObjective(method(), optimizer), mobench.MultiObjective(method(), plain_optimizer)
    scaler = scaler_of()
    for _ in range(3):
        expected: Any = plain.backward(losses_of(plain_network))
        record: Any = objective.backward(losses_of(network), scaler=scaler)
        assert record.losses.tolist() == expected.losses.tolist()
        for ours, theirs in ((record.weights, expected.weights), (record.gram, expected.gram)):
            assert (ours is None) == (theirs is None)
            if theirs is not None:
                np.testing.assert_allclose(ours, theirs, rtol=1e-6)
        torch.testing.assert_close(
            flat_grad(list(network.parameters())),
            1024.0 * flat_grad(list(plain_network.parameters())),
            rtol=1e-5,
            atol=1e-4,
        )
        plain_optimizer.step()
        scaler.step(optimizer)
        scaler.update()
    for mine, other in zip(network.parameters(), plain_network.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-5, atol=1e-6)


class Overflowing(torch.autograd.Function):
    """The identity, whose gradient overflows as float16 does once the loss scale is above a limit."""

    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.clone()

    @staticmethod
    def backward(ctx, upstream):
        return torch.where(upstream.abs() > ctx.limit, torch.inf, upstream), None


def overflowing_losses(network: torch.nn.Module, limit: float) -> list[torch.Tensor]:
    first, second = two_losses(network, batch(torch.float32))
    return [first, Overflowing.apply(second, limit)]


@pytest.mark.parametrize("method", [Remembering, CountingLosses])
def test_an_overflow_skips_the_step_and_leaves_the_method_untouched(method) -> None:
    network = small_network(torch.float32)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    objective: Any = mobench.MultiObjective(method(), optimizer)
    scaler = scaler_of(1024.0)

    def step(limit: float):
        record = objective.backward(overflowing_losses(network, limit), scaler=scaler)
        scaler.step(optimizer)
        scaler.update()
        objective.observe([1.0, 1.0])
        return record

    assert not step(limit=1e9).skipped
    state = objective.state_dict()
    weights = [parameter.detach().clone() for parameter in network.parameters()]
    record = step(limit=8.0)
    assert record.skipped
    assert record.weights is None
    assert scaler.get_scale() == 512.0, "the scaler saw the overflow"
    assert objective.state_dict() == state
    assert all(torch.equal(a, b) for a, b in zip(weights, network.parameters(), strict=True)), "no update"
    assert not step(limit=1e9).skipped
    assert objective.iteration == 2
    assert objective.method.calls == 2
    assert objective.method.observed == [[1.0, 1.0]] * 2


def test_a_loss_that_overflows_in_the_forward_pass_skips_the_step() -> None:
    network = small_network(torch.float32)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    objective = mobench.MultiObjective(Remembering(), optimizer)
    scaler = scaler_of()
    first, second = two_losses(network, batch(torch.float32))
    record = objective.backward([first, second * math.inf], scaler=scaler)
    scaler.step(optimizer)
    scaler.update()
    assert record.skipped
    assert scaler.get_scale() == 512.0
    assert objective.iteration == 0


def test_a_method_at_fault_is_not_taken_for_an_overflow() -> None:
    class Broken(FixedWeights):
        def weights(self, step):
            return [math.nan] * len(step.gram)

    network = small_network(torch.float32)
    objective = mobench.MultiObjective(Broken(), network.parameters())
    with pytest.raises(mobench.NonFiniteError, match="broken returned non-finite weights"):
        objective.backward(losses_of(network), scaler=scaler_of())


def test_a_disabled_scaler_is_as_good_as_none() -> None:
    network = small_network(torch.float32)
    objective = mobench.MultiObjective(UnitGradients(), network.parameters())
    objective.backward(losses_of(network))
    expected = flat_grad(list(network.parameters()))
    objective.backward(losses_of(network), scaler=scaler_of(enabled=False))
    assert torch.equal(flat_grad(list(network.parameters())), expected)
    first, *others = losses_of(network)
    with pytest.raises(mobench.NonFiniteError, match="loss 0 of 3 is nan"):
        objective.backward([first * math.nan, *others], scaler=scaler_of(enabled=False))


def test_accumulation_under_a_scaler() -> None:
    network = small_network(torch.float32)
    parameters = list(network.parameters())
    objective = mobench.MultiObjective(UnitGradients(), parameters)
    expected: Any = objective.backward(two_losses(network, batch(torch.float32)))
    update = flat_grad(parameters)
    scaler = scaler_of()
    for piece in pieces(batch(torch.float32), 4):
        objective.accumulate(two_losses(network, piece), scaler=scaler)
    record: Any = objective.combine()
    np.testing.assert_allclose(record.gram, expected.gram, rtol=1e-5)
    torch.testing.assert_close(flat_grad(parameters) / 1024.0, update, rtol=1e-5, atol=1e-6)


def test_an_overflow_in_one_micro_batch_skips_the_whole_step() -> None:
    network = small_network(torch.float32)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    objective = mobench.MultiObjective(Remembering(), optimizer)
    for factor in (1.0, math.inf):  # the gradient overflows, or the loss itself does
        scaler = scaler_of()
        objective.accumulate([factor * loss for loss in overflowing_losses(network, 8.0)], scaler=scaler)
        objective.accumulate(overflowing_losses(network, 1e9), scaler=scaler)
        assert objective.combine().skipped
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == 512.0
        assert objective.iteration == 0


def test_precomputed_gradients_of_scaled_losses() -> None:
    network = small_network(torch.float32)
    parameters = list(network.parameters())
    objective = mobench.MultiObjective(UnitGradients(), parameters)
    expected: Any = objective.backward(two_losses(network, batch(torch.float32)))
    update = flat_grad(parameters)
    scaler = scaler_of()
    rows = objective.gradients(scaler.scale(two_losses(network, batch(torch.float32))))
    record: Any = objective.backward(gradients=rows, scaler=scaler)
    np.testing.assert_allclose(record.gram, expected.gram, rtol=1e-5)
    torch.testing.assert_close(flat_grad(parameters) / 1024.0, update, rtol=1e-5, atol=1e-6)
    rows[0, 3] = math.inf
    assert objective.backward(gradients=rows, scaler=scaler).skipped


def test_bfloat16_autocast_is_close_to_float32() -> None:
    network = small_network(torch.float32)
    parameters = list(network.parameters())
    objective = mobench.MultiObjective(UnitGradients(), parameters)
    expected: Any = objective.backward(losses_of(network))
    update = flat_grad(parameters)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert network(batch(torch.float32)).dtype == torch.bfloat16
        losses = losses_of(network)
    record: Any = objective.backward(losses)
    assert flat_grad(parameters).dtype == torch.float32
    np.testing.assert_allclose(record.losses, expected.losses, rtol=0.02)
    assert torch.nn.functional.cosine_similarity(flat_grad(parameters), update, dim=0) > 0.999


def test_float16_autocast_with_a_scaler_trains() -> None:
    network = small_network(torch.float32)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05)
    objective = mobench.MultiObjective("pcd", optimizer, tau=0.1)
    scaler = scaler_of(2.0**24)  # far too large for float16: the first steps overflow
    before = two_losses(network, batch(torch.float32))[0].item()
    skipped = 0
    for _ in range(60):
        with torch.autocast("cpu", dtype=torch.float16):
            losses = two_losses(network, batch(torch.float32))
        skipped += objective.backward(losses, scaler=scaler).skipped
        scaler.step(optimizer)
        scaler.update()
    assert 0 < skipped < 30
    assert objective.iteration == 60 - skipped
    assert two_losses(network, batch(torch.float32))[0].item() < 0.5 * before
