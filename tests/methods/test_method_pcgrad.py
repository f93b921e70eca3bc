"""PCGrad: surgery by hand, and random orders that are drawn for every objective."""

import itertools

import numpy as np

from mobench.core.method import checked_weights
from tests.methods.method_steps import direction_of, started, step_of, weights_of

GRADIENTS = np.array([[1.0, 0.2, 0.0], [-1.0, 0.5, 0.3], [-0.2, -1.0, 0.4]])


def surgery_in_space(gradients: np.ndarray, orders: tuple[tuple[int, ...], ...]) -> np.ndarray:
    total = np.zeros(gradients.shape[1])
    for i, order in enumerate(orders):
        part = gradients[i].copy()
        for j in order:
            product = part @ gradients[j]
            if product < 0:
                part -= product / (gradients[j] @ gradients[j]) * gradients[j]
        total += part
    return total


def test_two_objectives_by_hand() -> None:
    # g_1' = g_1 + ½ g_2 = (½, ½) and g_2' = g_2 + g_1 = (0, 1)
    np.testing.assert_allclose(weights_of("pcgrad", [[1, 0], [-1, 1]]), [2.0, 1.5], rtol=1e-15)
    np.testing.assert_allclose(direction_of("pcgrad", [[1, 0], [-1, 1]]), [0.5, 1.5], rtol=1e-15)


def test_without_conflict_it_is_the_sum_and_not_the_mean() -> None:
    np.testing.assert_array_equal(weights_of("pcgrad", np.eye(4)), np.ones(4))


def test_zero_gradient_conflicts_with_nothing() -> None:
    np.testing.assert_allclose(direction_of("pcgrad", [[1, 0], [0, 0], [0, 2]]), [1.0, 2.0], rtol=1e-15)


def test_every_combination_of_orders_is_drawn_equally_often() -> None:
    pairs = [tuple(itertools.permutations(j for j in range(3) if j != i)) for i in range(3)]
    possible = [surgery_in_space(GRADIENTS, orders) for orders in itertools.product(*pairs)]
    distinct = np.unique(np.round(possible, 9), axis=0)
    multiplicity = np.array([(np.abs(possible - row).max(1) < 1e-8).sum() for row in distinct])
    assert len(distinct) > 2, "the orders of several objectives must matter"
    method = started("pcgrad", 3, seed=1)
    draws = 4000
    counts = np.zeros(len(distinct))
    for _ in range(draws):
        direction = checked_weights(method, step_of(GRADIENTS)) @ GRADIENTS
        distance = np.abs(distinct - direction).max(1)
        assert distance.min() < 1e-8
        counts[distance.argmin()] += 1
    expected = draws * multiplicity / multiplicity.sum()
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()


def test_orders_come_from_the_runs_own_stream() -> None:
    def draws(seed: int) -> list[list[float]]:
        method = started("pcgrad", 3, seed=seed)
        return [checked_weights(method, step_of(GRADIENTS)).tolist() for _ in range(20)]

    assert draws(0) == draws(0)
    assert draws(0) != draws(1)


def test_two_objectives_draw_nothing() -> None:
    method = started("pcgrad", 2)
    before = method.rng.bit_generator.state
    checked_weights(method, step_of([[1, 0], [-1, 1]]))
    assert method.rng.bit_generator.state == before
