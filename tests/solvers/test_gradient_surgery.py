from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobench.solvers import surgery
from tests.solvers.gradients import Array, small_integers


def operated(gradients: Array, orders: list[list[int]]) -> Array:
    """PCGrad on the gradients themselves."""
    total = np.zeros(gradients.shape[1])
    for gradient, order in zip(gradients, orders, strict=True):
        own = gradient.copy()
        for j in order:
            if own @ gradients[j] < 0.0:
                own -= (own @ gradients[j]) / (gradients[j] @ gradients[j]) * gradients[j]
        total += own
    return total


@settings(max_examples=200)
@given(small_integers(), st.randoms(use_true_random=False))
def test_the_gram_matrix_gives_what_the_gradients_give(gradients: Array, random: Random) -> None:
    orders = []
    for i in range(len(gradients)):
        others = [j for j in range(len(gradients)) if j != i]
        random.shuffle(others)
        orders.append(others)
    weights = surgery(gradients @ gradients.T, orders)
    np.testing.assert_allclose(weights @ gradients, operated(gradients, orders), atol=1e-11)


def test_the_order_matters() -> None:
    gradients = np.array([[1.0, 0.0], [-1.0, 1.0], [-1.0, -2.0]])
    gram = gradients @ gradients.T
    forward = surgery(gram, [[1, 2], [0, 2], [0, 1]]) @ gradients
    backward = surgery(gram, [[2, 1], [0, 2], [0, 1]]) @ gradients
    assert np.linalg.norm(forward - backward) > 0.1


def test_without_conflict_the_gradients_are_summed() -> None:
    assert surgery(np.eye(3), [[1, 2], [0, 2], [0, 1]]).tolist() == [1.0, 1.0, 1.0]
    assert surgery(np.ones((2, 2)), [[1], [0]]).tolist() == [1.0, 1.0]
    assert surgery(np.array([[4.0]]), [[]]).tolist() == [1.0]


@pytest.mark.parametrize("ratio", [1.0, 0.25, 2.0**-40])
def test_two_opposites_remove_each_other(ratio: float) -> None:
    weights = surgery(np.outer([1.0, -ratio], [1.0, -ratio]), [[1], [0]])
    assert weights @ [1.0, -ratio] == 0.0


def test_zero_gradients_divide_nothing() -> None:
    with np.errstate(all="raise"):
        assert surgery(np.zeros((2, 2)), [[1], [0]]).tolist() == [1.0, 1.0]
        assert surgery(np.zeros((3, 3)), [[1, 2], [0, 2], [0, 1]]).tolist() == [1.0, 1.0, 1.0]


def test_the_gram_matrix_is_left_as_it_was() -> None:
    gram = np.array([[1.0, -0.5, -0.2], [-0.5, 1.0, -0.1], [-0.2, -0.1, 1.0]])
    before = gram.copy()
    surgery(gram, [[1, 2], [0, 2], [0, 1]])
    np.testing.assert_array_equal(gram, before)
