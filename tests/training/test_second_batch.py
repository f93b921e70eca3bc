"""A second, independent batch of training data: drawn for who needs it, from a stream that nobody else uses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torchjd.aggregation

import mobench
from mobench.core.method import Method, Step
from mobench.core.problem import Problem
from mobench.core.registry import find_method, find_problem
from mobench.core.spec import RunSpec
from mobench.core.streams import Streams
from mobench.errors import UserError
from mobench.planning.plan import make_plan, make_plans
from mobench.planning.problem_suite import suite_of_problem
from mobench.training.loop import Group, train
from mobench.training.optimizer import Training
from tests.methods.method_steps import step_of
from tests.training.small_methods import batch, jacobian, small_network, two_losses

WITH_DATA = ("two-digits", "multi-output", "compression", "helmholtz")
TRAINING = Training(optimizer="adam", lr=1e-3, steps=4).configuration()


def two_steps(rows: np.ndarray, others: np.ndarray) -> Step:
    plain, second = step_of(rows), step_of(others)
    return Step(plain.losses, plain._source, plain.lower_bounds, second_batch=lambda: second)


def started(name: str, k: int, **settings: Any) -> Method:
    method = find_method(name)(**settings)
    method.reset(k, np.random.default_rng(0))
    return method


def test_modo_and_sdmgrad_are_torchjd_s_on_products_of_two_batches() -> None:
    rng = np.random.default_rng(0)
    modo, sdmgrad = started("modo", 3), started("sdmgrad", 3, batches="two")
    theirs = torchjd.aggregation.MoDoWeighting(), torchjd.aggregation.SDMGradWeighting()
    for _ in range(20):
        rows, others = rng.standard_normal((2, 3, 9))
        products = torch.from_numpy(rows @ others.T)
        first, second = (weighting(products).numpy() for weighting in theirs)
        direction = modo.direction(two_steps(rows, others)).numpy()
        np.testing.assert_allclose(direction, 0.5 * first @ (rows + others), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(sdmgrad.weights(two_steps(rows, others)), second, rtol=1e-12)


def test_settings_of_two_batches_need_two_batches() -> None:
    with pytest.raises(UserError, match=r"sdmgrad.inner_lr has no effect with sdmgrad.batches=one"):
        find_method("sdmgrad")(inner_lr=5.0)
    assert find_method("sdmgrad")().configuration() == {"pull": 0.3}


def test_a_problem_without_a_second_batch_is_refused_when_the_run_is_planned() -> None:
    wanted = r"the method 'modo' needs a second, independent batch of training data.*two-wells@1 has none"
    with pytest.raises(UserError, match=wanted):
        make_plans(["plane"], "quick", {"methods": ["modo"]})
    with pytest.raises(UserError, match=r"'sdmgrad' needs a second.*fairness@2 has none"):
        make_plans(["fairness"], "quick", {"methods": ["sdmgrad"], "methods.sdmgrad.batches": "two"})
    with pytest.raises(UserError, match=r"'auxinash' needs a second.*two-wells@1 has none"):
        make_plans(["plane"], "quick", {"methods": ["auxinash"], "methods.auxinash.powers": "hypergradient"})
    assert "modo" not in suite_of_problem("two-wells").methods
    assert make_plan(suite_of_problem("two-digits"), {"methods": ["modo"]}).specs


def test_a_loop_of_one_s_own_has_to_offer_it() -> None:
    gradients = torch.eye(2)
    with pytest.raises(UserError, match=r"modo needs a second, independent batch.*none is offered"):
        mobench.combine("modo", gradients)
    network = small_network()
    parameters = list(network.parameters())
    first, second = (jacobian(two_losses(network, batch(seed=seed)), parameters) for seed in (1, 5))
    objective = mobench.MultiObjective(
        "modo", parameters, second_batch=lambda: two_losses(network, batch(seed=5)), gamma=0.5
    )
    record = objective.backward(two_losses(network, batch()))
    assert record.backward_passes == 4
    alpha = torch.from_numpy(objective.method.alpha)  # type: ignore[attr-defined]
    update = torch.cat([parameter.grad.flatten() for parameter in parameters if parameter.grad is not None])
    torch.testing.assert_close(update, 0.5 * alpha @ (first + second), rtol=1e-10, atol=1e-14)


def problem_of(name: str) -> Problem:
    return find_problem(name)()


@pytest.mark.parametrize("name", WITH_DATA)
def test_second_batches_are_other_training_data_and_disturb_nobody(name: str) -> None:
    tasks: list[Any] = [problem_of(name).start(Streams(3)) for _ in range(2)]  # type: ignore[attr-defined]
    plain, drawing = tasks
    one, other = plain.batches(), drawing.batches()
    seconds = []
    for _ in range(3):
        seconds.append(drawing.second_batch())
        mine, theirs = (_tensors(next(each)) for each in (one, other))
        assert all(map(torch.equal, mine, theirs)), "the step's own batches are as they were"
        assert not all(map(torch.equal, _tensors(seconds[-1]), theirs)), "and another one beside them"
    assert [part.shape for part in _tensors(seconds[0])] == [part.shape for part in mine]
    held_out = drawing.held_out_batch()
    assert not torch.equal(_tensors(held_out)[0], _tensors(seconds[0])[0])
    restored: Any = problem_of(name).start(Streams(3))  # type: ignore[attr-defined]
    restored.load_state_dict(drawing.state_dict())
    assert all(map(torch.equal, _tensors(drawing.second_batch()), _tensors(restored.second_batch())))


def _tensors(batch: Any) -> list[torch.Tensor]:
    return [batch.inputs, batch.targets] if hasattr(batch, "inputs") else list(batch)


class LooksTwice(Method):
    """The sum, which looks at a second batch first."""

    needs_second_batch = True  # type: ignore[assignment]

    def weights(self, step: Step) -> np.ndarray:
        assert step.second_batch is not None and step.second_batch is step.second_batch
        assert step.second_batch.gram.shape == (step.k, step.k)
        assert not np.array_equal(step.second_batch.losses, step.losses)
        _ = step.gram
        return np.ones(step.k)


class LooksOnce(Method):
    """The sum."""

    def weights(self, step: Step) -> np.ndarray:
        _ = step.gram
        return np.ones(step.k)


class LooksAround(Method):
    """The sum, which looks at the curvature first."""

    def weights(self, step: Step) -> np.ndarray:
        vector = step.gradients[0]
        product = step.hessian_product(np.ones(step.k), vector)
        assert product.shape == vector.shape and product.dtype == vector.dtype and product.any()
        assert not step.hessian_product(np.ones(step.k), torch.zeros_like(vector)).any()
        _ = step.gram
        return np.ones(step.k)


@pytest.mark.parametrize("name", ["two-digits", "compression", "helmholtz"])
def test_looking_at_it_changes_no_number_of_the_run_and_counts_as_cost(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = []
    for kind in (LooksOnce, LooksTwice, LooksAround):
        monkeypatch.setattr(RunSpec, "build_method", lambda self, kind=kind: kind())
        outcomes.append(train([RunSpec.of(problem_of(name), kind(), TRAINING, 0)])[0])
    assert [outcome.error for outcome in outcomes] == [None, None, None]
    assert outcomes[0].metrics == outcomes[1].metrics == outcomes[2].metrics
    assert outcomes[0].backward_passes < outcomes[1].backward_passes < outcomes[2].backward_passes


OF_TWO_BATCHES: list[tuple[str, dict[str, Any]]] = [
    ("modo", {}),
    ("sdmgrad", {"batches": "two"}),
    ("auxinash", {"powers": "hypergradient"}),
]


@pytest.mark.parametrize(("name", "settings"), OF_TWO_BATCHES)
@pytest.mark.parametrize("problem", WITH_DATA)
def test_methods_of_two_batches_train_on_every_problem_with_data(
    name: str, settings: dict[str, Any], problem: str
) -> None:
    group = Group([RunSpec.of(problem_of(problem), find_method(name)(**settings), TRAINING, seed) for seed in (0,)])
    group.run(None, 1e9)
    assert group.members[0].error is None


@pytest.mark.parametrize("family", ["general", "zero", "one zero", "identical", "opposite", "spread"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_two_batches_of_any_type_and_position_give_finite_updates(family: str, dtype: torch.dtype) -> None:
    for k in (2, 3, 7):
        general = np.random.default_rng(k).standard_normal((2, k, 24))
        first, second = (_placed(rows, family) for rows in general)
        for method in (started("modo", k), started("sdmgrad", k, batches="two")):
            for _ in range(2):
                other = Step(np.ones(k), _Typed(second, dtype))
                step = Step(np.ones(k), _Typed(first, dtype), second_batch=lambda other=other: other)
                found = method.direction(step) if method.name == "modo" else torch.as_tensor(method.weights(step))
                assert torch.isfinite(found).all(), (k, method.name)
                assert method.name != "modo" or (found.dtype == dtype and found.shape == (24,))


def _placed(general: np.ndarray, family: str) -> np.ndarray:
    signs = np.where(np.arange(len(general)) % 2 == 0, 1.0, -1.0)[:, None]
    return {
        "general": general,
        "zero": 0.0 * general,
        "one zero": np.where(np.arange(len(general))[:, None] == 1, 0.0, general),
        "identical": np.repeat(general[:1], len(general), axis=0),
        "opposite": signs * general[:1],
        "spread": general * np.geomspace(1e-6, 1e6, len(general))[:, None],
    }[family]


class _Typed:
    """Gradients of a type."""

    def __init__(self, rows: np.ndarray, dtype: torch.dtype) -> None:
        self._rows = torch.from_numpy(rows).to(dtype)

    def gram(self) -> np.ndarray:
        wide = self._rows.double()
        return (wide @ wide.T).numpy()

    def gradients(self) -> torch.Tensor:
        return self._rows
