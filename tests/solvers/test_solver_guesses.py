"""A guess may save time; it must not change the answer."""

import numpy as np
import pytest

from mobench.solvers import conflict_averse, nash_bargain


def grams(k, count=30):
    for seed in range(count):
        rng = np.random.default_rng(seed)
        gradients = rng.standard_normal((k, 12)) * 10.0 ** rng.uniform(-2, 2, (k, 1))
        yield gradients, rng


@pytest.mark.parametrize("k", [3, 5, 8])
def test_conflict_averse_does_not_depend_on_the_guess(k):
    for gradients, rng in grams(k):
        gram = gradients @ gradients.T
        expected = conflict_averse(gram, 0.4) @ gradients
        for guess in (rng.uniform(0, 1, k), np.zeros(k), np.full(k, 2.0), conflict_averse(gram, 0.4)):
            assert conflict_averse(gram, 0.4, guess) @ gradients == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("k", [2, 3, 5, 8])
def test_a_bargain_does_not_depend_on_the_guess(k):
    for gradients, rng in grams(k):
        gram, powers = gradients @ gradients.T, rng.uniform(0.1, 1.0, k)
        expected = nash_bargain(gram, powers)
        for guess in (10.0 ** rng.uniform(-3, 3, k), np.zeros(k), expected.alpha):
            found = nash_bargain(gram, powers, guess)
            assert found.solved == expected.solved
            assert found.alpha == pytest.approx(expected.alpha, rel=1e-9)


@pytest.mark.parametrize("k", [3, 6])
def test_no_guess_makes_a_bargain_where_there_is_none(k):
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((20, k - 1)))[0].T
    gradients = np.vstack([basis.sum(0), -basis])
    for guess in (None, np.ones(k), np.zeros(k)):
        found = nash_bargain(gradients @ gradients.T, np.full(k, 1.0 / k), guess)
        assert not found.solved and not found.alpha.any()
