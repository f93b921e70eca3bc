"""Losses, parameters and optimizers in the forms in which people have them."""

from __future__ import annotations

from typing import Any

import accelerate
import lightning
import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import mobench
from mobench.errors import NonFiniteError, UserError
from tests.training.small_methods import (
    FixedWeights,
    InverseLosses,
    Remembering,
    UnitGradients,
    batch,
    flat_grad,
    small_network,
    two_losses,
)

NAMES = ("fit", "size")


def named(losses: Any) -> dict[str, Any]:
    return dict(zip(NAMES, losses, strict=True))


@pytest.mark.parametrize("method", [UnitGradients, InverseLosses, FixedWeights])
@pytest.mark.parametrize("form", [torch.stack, named, lambda losses: dict(reversed(named(losses).items()))])
def test_a_stacked_tensor_and_a_dict_are_as_good_as_a_list(method, form) -> None:
    network = small_network()
    parameters = list(network.parameters())
    expected: Any = mobench.MultiObjective(method(), parameters).backward(two_losses(network, batch()))
    update = flat_grad(parameters)
    objective = mobench.MultiObjective(method(), parameters)
    objective.backward(named(two_losses(network, batch())) if form is not torch.stack else two_losses(network, batch()))
    record: Any = objective.backward(form(two_losses(network, batch())))
    torch.testing.assert_close(flat_grad(parameters), update)
    np.testing.assert_allclose(record.weights, expected.weights)
    assert record.names == (None if form is torch.stack else NAMES), "the first dict decides the order"
    objective.accumulate(form(two_losses(network, batch())))
    objective.combine()
    torch.testing.assert_close(flat_grad(parameters), update)
    rows = objective.gradients(form(two_losses(network, batch())))
    objective.backward(form([loss.detach() for loss in two_losses(network, batch())]), gradients=rows)
    torch.testing.assert_close(flat_grad(parameters), update)


def test_losses_after_the_step_are_told_apart_by_name() -> None:
    network = small_network()
    objective: Any = mobench.MultiObjective(Remembering(), network.parameters())
    objective.backward(named(two_losses(network, batch())))
    objective.observe({"size": 2.0, "fit": torch.tensor(1.0)})
    objective.observe(torch.tensor([3.0, 4.0]))
    assert objective.method.observed == [[1.0, 2.0], [3.0, 4.0]]


def test_errors_call_a_loss_by_its_name() -> None:
    network = small_network()
    objective = mobench.MultiObjective("ws", network.parameters())
    fit, size = two_losses(network, batch())
    with pytest.raises(NonFiniteError, match="loss 'size' is nan"):
        objective.backward({"fit": fit, "size": size * float("nan")})
    with pytest.raises(UserError, match="the losses are called fit, weight; before they were fit, size"):
        objective.backward({"fit": fit, "weight": size})
    with pytest.raises(UserError, match=r"losses is a tensor of shape \(2, 1\)"):
        objective.backward(torch.stack([fit, size])[:, None])


def test_a_retained_graph_can_be_used_again() -> None:
    network = small_network()
    parameters = list(network.parameters())
    for method in (UnitGradients(), FixedWeights()):
        objective = mobench.MultiObjective(method, parameters)
        losses = [two_losses(network, batch())[0], parameters[0].square().sum()]
        objective.backward(losses, retain_graph=True)
        update = flat_grad(parameters)
        objective.backward(losses)
        assert torch.equal(flat_grad(parameters), update)
        with pytest.raises(RuntimeError, match="second time"):
            objective.backward(losses)


def test_parameters_may_come_with_their_names() -> None:
    network = small_network()
    parameters = list(network.parameters())
    mobench.MultiObjective(UnitGradients(), parameters).backward(two_losses(network, batch()))
    update = flat_grad(parameters)
    head = [("0.weight", parameters[0])]
    for given in (network.named_parameters(), torch.optim.SGD(network.named_parameters(), lr=0.1)):  # type: ignore[arg-type, unused-ignore]
        mobench.MultiObjective(UnitGradients(), given).backward(two_losses(network, batch()))
        assert torch.equal(flat_grad(parameters), update)
    mobench.MultiObjective("ws", network.named_parameters(), shared=head).backward(two_losses(network, batch()))
    with pytest.raises(UserError, match="need as many different names: a, a"):
        mobench.MultiObjective("ws", [("a", parameters[0]), ("a", parameters[1])])


DATA = TensorDataset(torch.cat([batch(seed=seed) for seed in range(4)]))


def plain_loop(method: str, epochs: int) -> list[Tensor]:
    """What the loops of both libraries must come to, bit for bit."""
    network = small_network()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    objective = mobench.MultiObjective(method, optimizer)
    for _ in range(epochs):
        for (inputs,) in DataLoader(DATA, batch_size=12):
            objective.backward(two_losses(network, inputs))
            optimizer.step()
    return [parameter.detach() for parameter in network.parameters()]


class Manual(lightning.LightningModule):
    """Manual optimization, with what Lightning wraps around the optimizer."""

    def __init__(self, method: str) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.network: nn.Module = small_network()
        self.method = method
        self.objective: mobench.MultiObjective | None = None

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.network.parameters(), lr=0.01)

    def on_fit_start(self) -> None:
        self.objective = mobench.MultiObjective(self.method, self.optimizers())  # type: ignore[arg-type]

    def training_step(self, given: list[Tensor]) -> None:
        assert self.objective is not None
        record: Any = self.objective.backward(named(two_losses(self.network, given[0])))
        self.optimizers().step()  # type: ignore[union-attr]
        self.log_dict(dict(zip(record.names, record.losses, strict=True)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["pcd", "ws"])
def test_lightning_takes_the_steps_of_a_plain_loop(method: str, tmp_path) -> None:
    module = Manual(method)
    trainer = lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
    )
    trainer.fit(module, DataLoader(DATA, batch_size=12))
    assert isinstance(module.optimizers(), lightning.pytorch.core.optimizer.LightningOptimizer)
    assert module.objective is not None and module.objective.iteration == trainer.global_step == 8
    assert set(trainer.logged_metrics) == set(NAMES)
    for mine, other in zip(module.network.parameters(), plain_loop(method, 2), strict=True):
        assert torch.equal(mine, other)


@pytest.mark.parametrize("method", ["pcd", "ws"])
def test_accelerate_takes_the_steps_of_a_plain_loop(method: str) -> None:
    accelerator = accelerate.Accelerator(cpu=True)
    network: Any = small_network()
    network, optimizer, data = accelerator.prepare(
        network, torch.optim.Adam(network.parameters(), lr=0.01), DataLoader(DATA, batch_size=12)
    )
    assert isinstance(optimizer, accelerate.optimizer.AcceleratedOptimizer)
    objective = mobench.MultiObjective(method, optimizer)
    for _ in range(2):
        for (inputs,) in data:
            objective.backward(two_losses(network, inputs))
            optimizer.step()
    for mine, other in zip(network.parameters(), plain_loop(method, 2), strict=True):
        assert torch.equal(mine, other)
