from __future__ import annotations

import math
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

import mobench
from mobench.errors import MethodError, NonFiniteError, UserError
from tests.training.small_methods import (
    FixedWeights,
    HalfSquare,
    InverseLosses,
    Remembering,
    SignOfSum,
    UnitGradients,
    batch,
    flat_grad,
    jacobian,
    small_network,
    two_losses,
)

COMBINING = sorted(
    name
    for name, kind in mobench.core.registry.methods().items()
    if (made := kind()).proximal_weight is None and not made.needs_second_batch
)
"""Methods that can be used in one's own loop without more: those whose step is a problem's proximal map cannot."""


def test_it_replaces_backward_for_any_optimizer() -> None:
    network, twin = small_network(), small_network()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    plain = torch.optim.Adam(twin.parameters(), lr=0.01)
    objective = mobench.MultiObjective("ws", optimizer, weight=0.25)
    for seed in range(5):
        objective.backward(two_losses(network, batch(seed=seed)))
        optimizer.step()
        first, second = two_losses(twin, batch(seed=seed))
        plain.zero_grad()
        torch.autograd.backward(0.75 * first + 0.25 * second)
        plain.step()
    for ours, theirs in zip(network.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-14)
    assert objective.iteration == 5


@pytest.mark.parametrize("method", [UnitGradients(), InverseLosses(), FixedWeights(values=[2.0, 0.5])])
def test_grad_is_the_weighted_sum(method) -> None:
    network = small_network()
    parameters = list(network.parameters())
    losses = two_losses(network, batch())
    rows = jacobian(losses, parameters)
    weights = {
        "unitgradients": 1.0 / rows.norm(dim=1),
        "inverselosses": torch.stack(losses).detach().reciprocal(),
        "fixedweights": torch.tensor([2.0, 0.5], dtype=torch.float64),
    }[method.name]
    record: Any = mobench.MultiObjective(method, network.parameters()).backward(losses)
    torch.testing.assert_close(flat_grad(parameters), weights @ rows)
    np.testing.assert_allclose(record.weights, weights)
    assert record.backward_passes == (2 if method.name == "unitgradients" else 1)


def test_all_registered_methods_train() -> None:
    for name in COMBINING:
        network = small_network()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.02)
        objective = mobench.MultiObjective(name, optimizer)
        before = torch.stack(two_losses(network, batch())).detach()
        for _ in range(20):
            objective.backward(two_losses(network, batch()))
            optimizer.step()
            if objective.wants_losses_after:
                with torch.no_grad():
                    objective.observe(two_losses(network, batch()))
        after = torch.stack(two_losses(network, batch())).detach()
        # a preference for equal losses may ask the primary to rise
        falls = after < before if name in ("epo", "pmgda") else (after < before)[:1]
        assert falls.any(), name


def test_diagnostics_describe_the_step() -> None:
    theta = torch.zeros(2, requires_grad=True)
    first, second = torch.tensor([3.0, 4.0]), torch.tensor([0.0, -2.0])
    objective: Any = mobench.MultiObjective(UnitGradients(), [theta])
    record: Any = objective.backward([theta @ first + 7.0, theta @ second])
    assert objective.diagnostics is record
    assert record.iteration == 0
    assert record.losses.tolist() == [7.0, 0.0]
    np.testing.assert_allclose(record.weights, [0.2, 0.5])
    np.testing.assert_allclose(record.gram, [[25.0, -8.0], [-8.0, 4.0]])
    np.testing.assert_allclose(record.cosines, [1.0, -0.8])
    # d = (0.6, 0.8) + (0, −1), so that d − g_1 = (−2.4, −4.2) and ‖g_1‖ = 5.
    assert record.deviation == pytest.approx(math.hypot(2.4, 4.2) / 5.0)
    assert record.notes == {"read": "gram"}
    assert (record.backward_passes, record.skipped) == (2, False)
    assert objective.backward([theta @ first, theta @ second]).iteration == 1


def test_diagnostics_of_zero_gradients_are_defined() -> None:
    theta = torch.zeros(2, requires_grad=True)

    class ReadsAndAdds(FixedWeights):
        def weights(self, step):
            assert step.gram.shape == (2, 2)
            return [1.0, 1.0]

    objective = mobench.MultiObjective(ReadsAndAdds(), [theta])
    zero_primary: Any = objective.backward([0.0 * theta.sum(), theta.sum()])
    assert zero_primary.cosines.tolist() == [0.0, 0.0]
    assert zero_primary.deviation == math.inf
    assert objective.backward([0.0 * theta.sum(), 0.0 * theta.sum()]).deviation == 0.0


def test_nothing_is_computed_for_diagnostics_that_the_method_did_not_read() -> None:
    network = small_network()
    record: Any = mobench.MultiObjective("ws", network.parameters()).backward(two_losses(network, batch()))
    assert (record.gram, record.cosines, record.deviation) == (None, None, None)
    assert record.backward_passes == 1


def test_a_direction_of_its_own() -> None:
    network = small_network()
    parameters = list(network.parameters())
    losses = two_losses(network, batch())
    expected = jacobian(losses, parameters).sum(dim=0).sign()
    record: Any = mobench.MultiObjective(SignOfSum(), parameters).backward(losses)
    assert torch.equal(flat_grad(parameters), expected)
    assert record.weights is None


def test_precomputed_gradients_need_no_losses_unless_they_are_read() -> None:
    network = small_network()
    parameters = list(network.parameters())
    rows = torch.randn(2, 58, dtype=torch.float64)
    objective = mobench.MultiObjective(UnitGradients(), parameters)
    record: Any = objective.backward(gradients=rows)
    torch.testing.assert_close(flat_grad(parameters), (rows / rows.norm(dim=1, keepdim=True)).sum(dim=0))
    assert record.losses is None
    assert record.backward_passes == 0
    with pytest.raises(UserError, match="pass losses="):
        mobench.MultiObjective(InverseLosses(), parameters).backward(gradients=rows)
    record = mobench.MultiObjective(InverseLosses(), parameters).backward([2.0, 4.0], gradients=rows)
    assert record.weights.tolist() == [0.5, 0.25]
    with pytest.raises(UserError, match="losses has 1 entries for 2 gradients"):
        objective.backward([2.0], gradients=rows)


def test_the_losses_after_the_step_reach_the_method() -> None:
    network = small_network()
    objective: Any = mobench.MultiObjective(Remembering(), network.parameters())
    assert objective.wants_losses_after
    assert not mobench.MultiObjective("ws", network.parameters()).wants_losses_after
    with pytest.raises(UserError, match="comes after backward"):
        objective.observe([1.0, 2.0])
    objective.backward(two_losses(network, batch()))
    objective.observe([torch.tensor(0.5), 0.25])
    assert objective.method.observed == [[0.5, 0.25]]
    with pytest.raises(UserError, match="losses_after has 1 entries; the step had 2"):
        objective.observe([1.0])
    with pytest.raises(NonFiniteError, match="loss 1 of 2 is inf"):
        objective.observe([1.0, math.inf])


def test_parameters_added_to_the_optimizer_are_seen_at_the_next_step() -> None:
    network, late = small_network(), torch.nn.Parameter(torch.ones(2, dtype=torch.float64))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    objective = mobench.MultiObjective(UnitGradients(), optimizer)
    objective.backward(two_losses(network, batch()))
    optimizer.add_param_group({"params": [late]})
    first, second = two_losses(network, batch())
    losses = [first + late.square().sum(), second]
    assert objective.gradients(losses).shape == (2, 60)
    first, second = two_losses(network, batch())
    objective.backward([first + late.square().sum(), second])
    expected = jacobian([late.square().sum() + two_losses(network, batch())[0]], [*network.parameters(), late])[0]
    torch.testing.assert_close(late.grad, 2.0 * late.detach() / expected.norm())


@pytest.mark.parametrize("name", COMBINING)
def test_a_state_is_read_by_torch_load_with_its_defaults(name: str, tmp_path: Path) -> None:
    def start() -> Any:
        network = small_network()
        return network, mobench.MultiObjective(name, network.parameters(), seed=5)

    def step(network: torch.nn.Module, objective: Any) -> Any:
        objective.backward([*two_losses(network, batch()), HalfSquare(list(network.parameters()))])
        if objective.wants_losses_after:
            objective.observe([0.5, 2.0, 3.0])
        return torch.cat([parameter.grad.flatten() for parameter in network.parameters()])

    network, objective = start()
    for _ in range(3):
        step(network, objective)
    torch.save(objective.state_dict(), tmp_path / "state.pt")
    restored_network, restored = start()
    restored.load_state_dict(torch.load(tmp_path / "state.pt"))
    for _ in range(2):
        assert step(network, objective).tolist() == step(restored_network, restored).tolist()


def test_a_restored_state_goes_on_bit_identically() -> None:
    def start(seed: int = 3) -> tuple[Any, Any]:
        network = small_network()
        return network, mobench.MultiObjective(Remembering(), network.parameters(), seed=seed)

    network, objective = start()
    for _ in range(3):
        objective.backward(two_losses(network, batch()))
    state = objective.state_dict()
    expected = [objective.backward(two_losses(network, batch())).weights for _ in range(2)]
    network, restored = start(seed=99)
    restored.load_state_dict(state)
    assert restored.iteration == 3
    for weights in expected:
        assert restored.backward(two_losses(network, batch())).weights.tolist() == weights.tolist()
    assert restored.method.calls == 5
    with pytest.raises(UserError, match="this step has 1 losses; the steps before had 2"):
        restored.backward(two_losses(network, batch())[:1])
    with pytest.raises(UserError, match="belongs to the method 'remembering', not to 'ws'"):
        mobench.MultiObjective("ws", network.parameters()).load_state_dict(state)


def test_the_seed_decides_what_a_random_method_draws() -> None:
    network = small_network()

    def weights(seed: int) -> Any:
        objective: Any = mobench.MultiObjective(Remembering(), network.parameters(), seed=seed)
        return objective.backward(two_losses(network, batch())).weights.tolist()

    assert weights(0) == weights(0)
    assert weights(0) != weights(1)


def test_lower_bounds_reach_the_method() -> None:
    theta = torch.ones(2, requires_grad=True)
    objective = mobench.MultiObjective("famo", [theta], lower_bounds=[1.0, -1.0])
    record: Any = objective.backward([theta.sum(), theta.sum()])  # gaps 1 and 3
    np.testing.assert_allclose(record.weights, [0.75, 0.25])
    objective = mobench.MultiObjective("famo", [theta], lower_bounds=[1.0])
    with pytest.raises(UserError, match="has 1 entries; there are 2 objectives"):
        objective.backward([theta.sum(), theta.sum()])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ([], "parameters is empty"),
        (torch.nn.Linear(1, 1), r"parameters is a Linear; it takes tensors, e.g. `model.parameters\(\)`"),
        (torch.ones(2, requires_grad=True), "parameters is a Tensor"),
        (None, "parameters is a NoneType"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message: str) -> None:
    with pytest.raises(UserError, match=message):
        mobench.MultiObjective("ws", parameters)


def test_wrong_calls_are_refused_and_leave_the_front_end_usable() -> None:
    network = small_network()
    objective = mobench.MultiObjective(UnitGradients(), network.parameters())
    objective.backward(two_losses(network, batch()))
    with pytest.raises(UserError, match="this step has 1 losses; the steps before had 2"):
        objective.backward(two_losses(network, batch())[:1])
    with pytest.raises(UserError, match="takes a list of losses, or gradients="):
        objective.backward()
    with pytest.raises(UserError, match="there is nothing to combine"):
        objective.combine()
    with pytest.raises(NonFiniteError, match="loss 0 of 2 is nan"):
        objective.backward([math.nan * loss for loss in two_losses(network, batch())])
    assert objective.backward(two_losses(network, batch())).iteration == 1


def test_a_method_that_returns_nonsense_is_stopped() -> None:
    network = small_network()

    class Nonsense(FixedWeights):
        answer: ClassVar[list[float]]

        def weights(self, step):
            return self.answer

    for answer, error in [([1.0], MethodError), ([math.nan, 1.0], NonFiniteError)]:
        Nonsense.answer = answer
        with pytest.raises(error, match="nonsense returned"):
            mobench.MultiObjective(Nonsense(), network.parameters()).backward(two_losses(network, batch()))


def test_closed_forms_cost_no_backward_pass() -> None:
    network = small_network()
    parameters = list(network.parameters())
    objective = mobench.MultiObjective(UnitGradients(), parameters)
    record: Any = objective.backward([two_losses(network, batch())[0], HalfSquare(parameters)])
    assert record.backward_passes == 1


@pytest.mark.parametrize("method", ["ws", "famo", "pcd", "mgda", SignOfSum()], ids=str)
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_gradients_that_are_not_finite_are_refused_by_every_method_and_leave_none(method: Any, bad: float) -> None:
    weight = torch.ones(3, requires_grad=True)
    other = torch.ones(2, requires_grad=True)
    weight.register_hook(lambda gradient: gradient * torch.tensor([1.0, bad, 1.0]))
    objective = mobench.MultiObjective(method, [other, weight])
    with pytest.raises(NonFiniteError, match="not finite"):
        objective.backward([(weight**2).sum() + (other**2).sum(), (weight - 2.0).square().sum()])
    assert weight.grad is None and other.grad is None
    assert objective.iteration == 0


def test_an_update_of_finite_numbers_whose_sum_overflows_is_taken() -> None:
    weight = torch.zeros(4, requires_grad=True)
    mobench.MultiObjective("ws", [weight], weight=0.0).backward([3e38 * weight.sum(), weight.sum()])
    assert weight.grad is not None and weight.grad.tolist() == pytest.approx([3e38] * 4)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_rounding_of_a_narrow_type_makes_no_contradiction_feasible_and_no_bargain(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    hidden = (torch.nn.Linear(20, 32), torch.nn.Tanh(), torch.nn.Linear(32, 32), torch.nn.Tanh())
    network = torch.nn.Sequential(*hidden, torch.nn.Linear(32, 2)).to(dtype)
    inputs, targets = torch.randn(64, 20).to(dtype), torch.randn(64, 2).to(dtype)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.02)
    constrained = mobench.MultiObjective("pcd", optimizer, tau=0.1)
    bargaining = mobench.MultiObjective("auxinash", optimizer)
    for _ in range(10):
        task, r = (network(inputs) - targets).square().mean(dim=0)
        record = constrained.backward([task, r, -1.3 * r])
        assert record.notes["infeasible"] is True and record.weights.tolist() == [1.0, 0.0, 0.0]
        optimizer.step()
        task, _ = (network(inputs) - targets).square().mean(dim=0)
        assert bargaining.backward([task, -1.3 * task]).notes["unsolved"]


@pytest.mark.parametrize("seed", range(6))
def test_objectives_that_contradict_each_other_in_float32_leave_the_primary_alone(seed: int) -> None:
    """Rounding makes the gradient of −1.3 r differ from −1.3 times that of r; it must not decide the step."""
    torch.manual_seed(seed)
    networks = [torch.nn.Sequential(torch.nn.Linear(20, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2)) for _ in "ab"]
    networks[1].load_state_dict(networks[0].state_dict())
    inputs, targets = torch.randn(64, 20), torch.randn(64, 2)
    optimizers = [torch.optim.Adam(network.parameters(), lr=0.01) for network in networks]
    objective = mobench.MultiObjective("pcd", optimizers[0], tau=0.1)
    for _ in range(40):
        task, r = (networks[0](inputs) - targets).square().mean(dim=0)
        assert objective.backward([task, r, -1.3 * r]).notes["infeasible"] is True
        optimizers[1].zero_grad()
        (networks[1](inputs) - targets).square().mean(dim=0)[0].backward()
        for optimizer in optimizers:
            optimizer.step()
    for ours, alone in zip(*(network.parameters() for network in networks), strict=True):
        torch.testing.assert_close(ours, alone, rtol=1e-4, atol=1e-6)
