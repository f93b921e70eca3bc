"""Mistakes seen in public code, each with a test that would notice it. Others stand beside their method."""

import math

import numpy as np
import pytest

from mobench.core.method import checked_weights
from mobench.core.registry import find_method, methods
from mobench.methods.pcgrad import orders_of_three, random_orders
from tests.methods.method_steps import direction_of, started, step_of, weights_of

ONE_OBJECTIVE = {"pcd": 1.0, "ws": 1.0, "mgda": 1.0, "pcgrad": 1.0, "cagrad": 1.4, "famo": 1.0, "auxinash": 1 / 5}


@pytest.mark.parametrize("name", ONE_OBJECTIVE)
def test_one_objective_is_its_gradient_at_the_stated_scale(name: str) -> None:
    np.testing.assert_allclose(weights_of(name, [[3.0, 4.0]]), [ONE_OBJECTIVE[name]], rtol=1e-7)


@pytest.mark.parametrize("k", [2, 3, 8])
def test_scale_of_every_method_on_orthonormal_gradients(k: int) -> None:
    lengths = {name: np.linalg.norm(direction_of(name, np.eye(k))) for name in ONE_OBJECTIVE}
    root = math.sqrt(k)
    expected = {
        "pcd": 1.0,
        "ws": math.hypot(0.5, 0.5 / math.sqrt(k - 1)),
        "mgda": 1 / root,
        "pcgrad": root,
        "cagrad": 1.4 / root,
        "famo": 1 / root,
        "auxinash": 1.0,
    }
    assert lengths == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("name", methods())
def test_docstring_states_scale_and_the_class_its_paper(name: str) -> None:
    method = find_method(name)
    assert "Scale:" in (method.__doc__ or "")
    assert any(f"({year})" in str(method.reference) for year in range(1970, 2030))


def test_pcgrad_orders_are_shuffled_per_objective_and_skip_itself() -> None:
    method = started("pcgrad", 4)
    drawn = [random_orders([method.rng], 4)[0] for _ in range(200)]
    for orders in drawn:
        assert [sorted(order) for order in orders] == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]
    for i in range(4):
        assert len({tuple(orders[i]) for orders in drawn}) == 6, "every order of the three others occurs"
    ranks = {(tuple(orders[0]), tuple(orders[1])) for orders in drawn}
    assert len(ranks) > 25, "the orders of two objectives are drawn independently"


@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_pcgrad_orders_are_those_of_k_times_k_numbers_of_each_stream(k: int) -> None:
    streams, again = ([np.random.default_rng(seed) for seed in range(3)] for _ in range(2))
    for orders, stream in zip(random_orders(streams, k), again, strict=True):
        keys = stream.random((k, k)) if k > 2 else np.zeros((k, k))
        expected = [sorted((j for j in range(k) if j != i), key=keys[i].__getitem__) for i in range(k)]
        assert orders.tolist() == expected
    assert [stream.random() for stream in streams] == [stream.random() for stream in again], "nothing else is drawn"


def test_pcgrad_draws_the_same_orders_of_three_as_lists() -> None:
    streams, again = ([np.random.default_rng(seed) for seed in range(20)] for _ in range(2))
    for _ in range(10):
        assert np.array(orders_of_three(streams)).tolist() == random_orders(again, 3).tolist()


def test_famo_gamma_reaches_the_update_of_its_logits() -> None:
    def weights_after(gamma: float) -> tuple[float, float]:
        method = started("famo", 2, gamma=gamma)
        for after in ([0.5, 1.0], [1.0, 0.9], [1.0, 0.9]):
            checked_weights(method, step_of(np.eye(2)))
            method.observe(np.array(after))
        first, second = checked_weights(method, step_of(np.eye(2)))
        return float(first), float(second)

    assert len({weights_after(gamma) for gamma in (0.0, 1e-5, 1e-3, 1e-2)}) == 4


def test_famo_asks_for_the_losses_after_the_step_and_nobody_else_does() -> None:
    assert {name for name, method in methods().items() if method.overrides("observe")} == {"famo"}


def test_auxinash_powers_arrive() -> None:
    gradients = np.array([[1.0, 0.3, 0.0], [-0.2, 1.0, 0.5]])
    for p in (0.1, 0.5, 0.9):
        alpha = weights_of("auxinash", gradients, p=p)
        assert alpha[0] * (gradients[0] @ (alpha @ gradients)) == pytest.approx(p, rel=1e-9)


def test_auxinash_keeps_nothing_from_an_earlier_run() -> None:
    method = started("auxinash", 2)
    first = checked_weights(method, step_of([[1, 0], [0, 2]]))
    checked_weights(method, step_of([[1, 0], [-1, 0]]))  # no bargain here
    np.testing.assert_array_equal(checked_weights(method, step_of([[1, 0], [0, 2]])), first)
