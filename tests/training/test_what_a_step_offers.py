"""What methods may read of a step besides losses, Gram matrix and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import mobench
from mobench.core.method import RESERVED, Method, Step
from mobench.core.registry import find_problem
from mobench.core.spec import RunSpec
from mobench.errors import MethodError, UserError
from mobench.training.loop import train
from mobench.training.optimizer import Training
from tests.training.small_methods import HalfSquare, batch, jacobian, small_network, two_losses
from tests.training.test_loop import Regression, RegressionTask, own_plugins, spec  # noqa: F401

SIZES = {"0.weight": 35, "0.bias": 7, "2.weight": 14, "2.bias": 2}


class Reader(Method):
    """Keeps what it is told to read."""

    def reset(self, k: int, rng: np.random.Generator) -> None:
        super().reset(k, rng)
        self.read: list[Any] = []

    def look(self, step: Step) -> Any:
        return None

    def weights(self, step: Step):
        self.read.append(self.look(step))
        return np.ones(step.k)


class ReadsLayers(Reader):
    def look(self, step: Step) -> Any:
        return dict(step.layers), dict(step.layer_grams), step.gram


class ReadsTotal(Reader):
    def look(self, step: Step) -> Any:
        return step.total_steps


class ReadsHeldOut(Reader):
    def look(self, step: Step) -> Any:
        if step.iteration % 2 or step.held_out is None:
            return None
        assert step.held_out is step.held_out, "a step has one held-out batch"
        return step.held_out.losses, step.held_out.gram, step.held_out.gradients


def test_layers_are_named_and_have_gram_matrices_of_their_own() -> None:
    network = small_network()
    parameters = list(network.parameters())
    rows = jacobian(two_losses(network, batch()), parameters).numpy()
    objective: Any = mobench.MultiObjective(ReadsLayers(), network.named_parameters())
    record = objective.backward(two_losses(network, batch()))
    layers, grams, gram = objective.method.read[0]
    assert {name: part.stop - part.start for name, part in layers.items()} == SIZES
    for name, part in layers.items():
        np.testing.assert_allclose(grams[name], rows[:, part] @ rows[:, part].T, rtol=1e-12)
    np.testing.assert_allclose(sum(grams.values()), gram, rtol=1e-12)
    assert record.backward_passes == 2


def test_layers_are_those_of_the_shared_parameters() -> None:
    network = small_network()
    shared = [*network.named_parameters()][2:]
    objective: Any = mobench.MultiObjective(ReadsLayers(), network.parameters(), shared=shared)
    objective.backward(two_losses(network, batch()))
    layers, grams, _ = objective.method.read[0]
    assert layers == {"2": slice(0, 14), "3": slice(14, 16)}
    assert set(grams) == {"2", "3"}


def test_a_single_vector_is_one_layer() -> None:
    gradients = torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]])
    method = ReadsLayers()
    mobench.combine(method, gradients)
    layers, grams, gram = method.read[0]
    assert gradients[:, layers["all"]].equal(gradients)
    np.testing.assert_array_equal(grams["all"], gram)


def test_the_number_of_all_steps_is_known_where_somebody_knows_it(monkeypatch) -> None:
    network = small_network()
    for given in (None, 70):
        objective: Any = mobench.MultiObjective(ReadsTotal(), network.parameters(), total_steps=given)
        objective.backward(two_losses(network, batch()))
        assert objective.method.read == [given]
    method = ReadsTotal()
    monkeypatch.setattr(RunSpec, "build_method", lambda self: method)
    train([spec(epochs=2)])
    assert method.read == [10] * 10


def test_a_held_out_batch_is_evaluated_only_when_it_is_read() -> None:
    network = small_network()
    parameters = list(network.parameters())
    calls = []

    def held_out() -> Any:
        calls.append(1)
        return [*two_losses(network, batch(seed=5)), HalfSquare(parameters)]

    objective: Any = mobench.MultiObjective(ReadsHeldOut(), parameters, held_out=held_out)
    passes = [
        objective.backward([*two_losses(network, batch()), HalfSquare(parameters)]).backward_passes for _ in range(3)
    ]
    assert len(calls) == 2
    assert passes == [3, 1, 3], "one for the weighted sum, two for the held-out gradients"
    losses, gram, gradients = objective.method.read[0]
    expected = [
        *jacobian(two_losses(network, batch(seed=5)), parameters),
        torch.cat([p.reshape(-1) for p in parameters]),
    ]
    rows = torch.stack(expected).detach()
    torch.testing.assert_close(gradients, rows)
    np.testing.assert_allclose(gram, (rows @ rows.T).numpy(), rtol=1e-12)
    np.testing.assert_allclose(losses[:2], [float(loss) for loss in two_losses(network, batch(seed=5))], rtol=1e-14)
    mobench.MultiObjective("ws", parameters, held_out=held_out).backward(two_losses(network, batch()))
    assert len(calls) == 2


def test_a_held_out_batch_changes_no_update() -> None:
    network = small_network()
    updates = []
    for held_out in (None, lambda: {"b": two_losses(network, batch(seed=5))[0], "a": network[0].bias.sum()}):
        objective = mobench.MultiObjective(ReadsHeldOut(), network.parameters(), held_out=held_out)
        first, second = two_losses(network, batch())
        objective.backward({"a": first, "b": second})
        updates.append([parameter.grad for parameter in network.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*updates, strict=True))  # type: ignore[arg-type]
    assert objective.method.read[0][0][0] == float(network[0].bias.sum()), "told apart by name"  # type: ignore[attr-defined]


def test_a_held_out_batch_must_have_as_many_losses() -> None:
    network = small_network()
    held_out = lambda: two_losses(network, batch())[:1]  # noqa: E731
    objective = mobench.MultiObjective(ReadsHeldOut(), network.parameters(), held_out=held_out)
    with pytest.raises(UserError, match=r"held_out\(\) returned 1 losses; the step has 2"):
        objective.backward(two_losses(network, batch()))


def test_a_problem_can_offer_a_held_out_batch(monkeypatch) -> None:
    class HoldsOut(RegressionTask):
        def held_out_batch(self) -> Any:
            return torch.ones(4, 3), torch.zeros(4, 1)

    task = HoldsOut(mobench.core.streams.Streams(0))
    expected = float(task.model(torch.ones(4, 3)).square().mean())
    method = ReadsHeldOut()
    monkeypatch.setattr(RunSpec, "build_method", lambda self: method)
    assert train([spec(steps=2)])[0].backward_passes == 2
    assert method.read == [None, None]
    monkeypatch.setattr(Regression, "start", lambda self, streams: task)
    assert train([spec(steps=2)])[0].backward_passes == 4
    assert method.read[0][0][0] == expected


def test_a_problem_can_name_its_parameters(monkeypatch) -> None:
    method = ReadsLayers()
    monkeypatch.setattr(RunSpec, "build_method", lambda self: method)
    monkeypatch.setattr(RegressionTask, "parameter_names", ("in", "in bias", "out", "out bias"))
    train([spec(steps=1)])
    assert [*method.read[0][0]] == ["in", "in bias", "out", "out bias"]


@pytest.mark.parametrize("name", ["losses", "weights", "gradient_norms", "point", "step"])
def test_a_method_cannot_write_its_own_curves(name: str) -> None:
    losses, gram = np.array([1.0, 2.0]), np.eye(2)

    class Source:
        def gram(self) -> np.ndarray:
            return gram

        def gradients(self) -> torch.Tensor:
            return torch.eye(2)

    step = Step(losses, Source())
    with pytest.raises(MethodError, match=f"{name}=.*the benchmark measures this curve"):
        step.note(**{name: np.zeros(2)})
    with pytest.raises(MethodError, match=r"'a\\x1b' has characters that are not seen"):
        step.note(**{"a\x1b": 1.0})
    step.note(multipliers=np.zeros(2))
    for array in (step.losses, step.gram):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0
    assert losses.tolist() == [1.0, 2.0] and gram.tolist() == [[1.0, 0.0], [0.0, 1.0]]


class Forger(Method):
    """The sum of the gradients, by a method that tries to write its own curves in every way that a step offers."""

    def weights(self, step: Step) -> np.ndarray:
        honest = np.ones(step.k)
        for array in (step.losses, step.gram):
            array.setflags(write=True)
            array[...] = 1e-9
        step.gradients.zero_()
        step.losses = np.zeros(step.k)
        step.notes.update({name: np.zeros(step.k) for name in RESERVED})
        return honest


class Honest(Method):
    """The sum of the gradients."""

    def weights(self, step: Step) -> np.ndarray:
        _ = step.gram
        return np.ones(step.k)


def test_what_a_method_writes_into_its_step_changes_no_curve(monkeypatch) -> None:
    curves = []
    for kind in (Forger, Honest):
        monkeypatch.setattr(RunSpec, "build_method", lambda self, kind=kind: kind())
        networks = train([spec(steps=3)])[0]
        plane = train([RunSpec.of(find_problem("two-wells")(), kind(), Training(steps=3).configuration(), 0)])[0]
        curves.append((networks.history, networks.metrics, plane.history, plane.metrics))
        assert {"losses", "gradient_norms", "cosines", "point"} <= set(plane.history)
    assert curves[0] == curves[1]
